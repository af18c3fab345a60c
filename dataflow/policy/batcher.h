#pragma once
#include "dataflow/base/clock.h"

#include <cstdint>

namespace sluice {

/// Decides when the requests that wait for a service make a batch, and where it is cut. Weights are
/// whatever the payload counts (rows, tokens). Pure.
class Batcher {
 public:
  Batcher(int64_t limit, TimeNs within) noexcept : limit_(limit), within_(within) {}

  /// When the batch is due (kForever: nothing waits). `weight` is the sum over all that waits,
  /// `oldest` when the first of them was asked.
  [[nodiscard]] TimeNs due_at(int64_t waiting, int64_t weight, TimeNs oldest) const noexcept {
    if (waiting == 0) return kForever;
    return weight >= limit_ ? oldest : after(oldest, within_);
  }
  [[nodiscard]] bool due(int64_t waiting, int64_t weight, TimeNs oldest,
                         TimeNs now) const noexcept {
    return waiting > 0 && (weight >= limit_ || now >= due_at(waiting, weight, oldest));
  }
  /// Does a request of weight `next` still belong to a batch that weighs `batch`? The first one
  /// always does, so that a request heavier than the limit is served, alone.
  [[nodiscard]] bool fits(int64_t batch, int64_t next) const noexcept {
    return batch == 0 || batch + next <= limit_;
  }

 private:
  int64_t limit_;
  TimeNs within_;
};

}  // namespace sluice
