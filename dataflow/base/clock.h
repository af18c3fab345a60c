#pragma once
#include <atomic>
#include <cstdint>

namespace sluice {

/// Nanoseconds since an arbitrary start; only differences mean anything.
using TimeNs = int64_t;
inline constexpr TimeNs kForever = INT64_MAX;
inline constexpr TimeNs kMicrosecond = 1'000;
inline constexpr TimeNs kMillisecond = 1'000'000;
inline constexpr TimeNs kSecond = 1'000'000'000;

/// Where time comes from. Injected everywhere, so that tests run on virtual time. Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimeNs now() const noexcept = 0;
};

/// The monotonic clock of the machine.
class RealClock final : public Clock {
 public:
  [[nodiscard]] TimeNs now() const noexcept override;
  /// The one instance that production code uses.
  static RealClock& instance() noexcept;
};

/// Time that moves only when a test says so.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimeNs now() const noexcept override {
    return now_.load(std::memory_order_acquire);
  }
  void advance(TimeNs by) noexcept { now_.fetch_add(by, std::memory_order_acq_rel); }

 private:
  std::atomic<TimeNs> now_{0};
};

/// `start + by`, without overflow when `by` is kForever.
constexpr TimeNs after(TimeNs start, TimeNs by) noexcept {
  return by >= kForever - start ? kForever : start + by;
}

}  // namespace sluice
