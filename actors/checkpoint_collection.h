#pragma once
#include "actors/loop.h"

#include <cstdint>
#include <string>

namespace sluice {

/// One checkpoint while its parts come in, one from each loop. It succeeds only as a whole.
class CheckpointCollection {
 public:
  CheckpointCollection(int64_t ticket, size_t loops) : ticket_(ticket), missing_(loops) {}

  /// The part of one more loop, or why there is none. `loop` names it in an error.
  void add(const std::string& loop, Result<Snapshots> part);
  [[nodiscard]] bool complete() const { return missing_ == 0; }
  [[nodiscard]] int64_t ticket() const { return ticket_; }
  /// The first thing that went wrong; "" is success.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] Snapshots take() { return std::move(all_); }

 private:
  void fail(std::string failure);

  int64_t ticket_;
  size_t missing_;
  std::string failure_;
  Snapshots all_;
};

}  // namespace sluice
