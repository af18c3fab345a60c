#pragma once
#include "dataflow/base/clock.h"

#include <atomic>
#include <cstdint>

namespace sluice {

/// The one place where a loop thread waits: an event count. Everything that may give the thread
/// something to do (a channel, the control actor, a timer owner) calls wake(); the thread reads the
/// epoch, looks for work, and only then waits for the epoch to move, so that no wake-up is lost.
///
///   const auto seen = waker.epoch();
///   if (nothing_to_do()) waker.wait(seen, deadline);
///
/// wake() may be called from any thread and never blocks; wait() from the owner only. A waiter
/// spins for a short, self-adjusting time before it parks in the kernel, because a parked core
/// takes tens of microseconds to come back.
class Waker {
 public:
  using Epoch = uint32_t;

  Waker() = default;
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  [[nodiscard]] Epoch epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void wake() noexcept;
  /// Returns true once the epoch differs from `seen`, false when `deadline` (RealClock) passed
  /// first.
  bool wait(Epoch seen, TimeNs deadline) noexcept;

  /// Longest spin before parking; 0 never spins.
  void max_spin(TimeNs spin) noexcept {
    max_spin_ = spin;
    spin_ = spin;
  }

 private:
  std::atomic<Epoch> epoch_{0};
  std::atomic<uint32_t> parked_{0};
  TimeNs max_spin_ = 20 * kMicrosecond;
  TimeNs spin_ = 20 * kMicrosecond;
};

}  // namespace sluice
