#include "dataflow/base/waker.h"

#include "dataflow/base/relax.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace sluice {
namespace {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, TimeNs timeout) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(timeout / kSecond);
  limit.tv_nsec = static_cast<decltype(limit.tv_nsec)>(timeout % kSecond);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &limit,
          nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr,
          nullptr, 0);
}

}  // namespace

void Waker::wake() noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) != 0) futex_wake_all(epoch_);
}

bool Waker::wait(Epoch seen, TimeNs deadline) noexcept {
  const RealClock& clock = RealClock::instance();
  const TimeNs start = clock.now();
  const TimeNs spin_until = std::min(deadline, after(start, spin_));
  for (TimeNs now = start; now < spin_until; now = clock.now()) {
    for (int i = 0; i < 16; ++i) {
      if (epoch() != seen) {
        spin_ = max_spin_;  // spinning paid off: keep doing it
        return true;
      }
      relax();
    }
  }
  // Spinning did not pay: a thread that waits long soon stops burning its core.
  spin_ = spin_ > kMicrosecond ? spin_ / 2 : std::min(max_spin_, kMicrosecond);

  parked_.fetch_add(1, std::memory_order_seq_cst);
  bool woken = false;
  for (;;) {
    woken = epoch_.load(std::memory_order_seq_cst) != seen;
    const TimeNs now = clock.now();
    if (woken || now >= deadline) break;
    futex_wait(epoch_, seen, std::min<TimeNs>(deadline - now, 3600 * kSecond));
  }
  parked_.fetch_sub(1, std::memory_order_seq_cst);
  return woken;
}

}  // namespace sluice
