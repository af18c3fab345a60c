#pragma once
#include "dataflow/base/ids.h"

#include <cstdint>

namespace sluice {

/// Decides how many items may be started so that they are at most `eta` versions old when a batch
/// of `batch` of them is trained on: room = (eta + 1 + v - v0) * batch - accepted - running. (The
/// rule of Fu et al., 2025, "AReaL".) Pure arithmetic.
class AdmissionWindow {
 public:
  AdmissionWindow(int64_t eta, int64_t batch) noexcept : eta_(eta), batch_(batch) {}

  /// Items that may be started now; never negative.
  [[nodiscard]] int64_t room() const noexcept;
  void started(int64_t n) noexcept { running_ += n; }
  /// Started items that will not arrive.
  void given_back(int64_t n) noexcept { running_ -= n; }
  /// An item arrived; `was_started`: it had been counted by started().
  void accepted(bool was_started) noexcept;
  /// An accepted item was thrown away unread: its place is free again.
  void refunded(int64_t n) noexcept { accepted_ -= n; }

  /// The consumer trains `current` now. The first call sets v0. A new incarnation starts afresh
  /// from its own version, with only the `held` items that still wait to be read on its account. An
  /// older version changes nothing; false then.
  bool advance(const VersionTag& current, int64_t held) noexcept;

  [[nodiscard]] int64_t accepted_count() const noexcept { return accepted_; }
  [[nodiscard]] int64_t running() const noexcept { return running_; }

 private:
  int64_t eta_;
  int64_t batch_;
  int64_t accepted_ = 0;
  int64_t running_ = 0;
  VersionTag first_;
  VersionTag current_;
};

}  // namespace sluice
