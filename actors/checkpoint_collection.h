#pragma once
#include "actors/loop.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// One checkpoint while its parts come in, one from each loop. It succeeds only as a whole.
class CheckpointCollection {
 public:
  CheckpointCollection(int64_t ticket, size_t loops) : ticket_(ticket), missing_(loops, true) {}

  /// The part of one loop, or why there is none; only the first counts. `name` names the loop in an
  /// error.
  void add(size_t loop, const std::string& name, Result<Snapshots> part);
  [[nodiscard]] bool waits_for(size_t loop) const { return missing_[loop]; }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] int64_t ticket() const { return ticket_; }
  /// The first thing that went wrong; "" is success.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] Snapshots take() { return std::move(all_); }

 private:
  void fail(std::string failure);

  int64_t ticket_;
  std::vector<bool> missing_;
  std::string failure_;
  Snapshots all_;
};

}  // namespace sluice
