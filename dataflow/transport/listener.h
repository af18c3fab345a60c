#pragma once
#include "dataflow/base/waker.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

namespace sluice {

/// An endpoint that may be woken by others. Wake-ups are sent outside the channel's lock; pins keep
/// the endpoint (and with it the loop's Waker) alive until they are through.
class Listener {
 public:
  explicit Listener(Waker& waker) : waker_(waker) {}

  /// With the channel's lock held.
  void pin() noexcept { pins_.fetch_add(1, std::memory_order_relaxed); }
  void wake_and_unpin() noexcept {
    waker_.wake();
    pins_.fetch_sub(1, std::memory_order_release);
  }
  /// Waits for wake-ups that are under way; the endpoint must not be reachable for new ones.
  void drain() const noexcept {
    while (pins_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  void wake_now() noexcept { waker_.wake(); }
  [[nodiscard]] bool wakes(const Waker& waker) const noexcept { return &waker_ == &waker; }

  /// Guarded by the channel's lock: the endpoint looked since it was last woken.
  bool armed = true;

 private:
  Waker& waker_;
  std::atomic<int> pins_{0};
};

/// The wake-ups that one operation owes. Filled under the channel's lock, sent by the destructor:
/// declare it before the lock guard.
class WakeList {
 public:
  WakeList() = default;
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;
  ~WakeList() {
    for (size_t i = 0; i < count_; ++i) listeners_[i]->wake_and_unpin();
  }

  /// Wakes the endpoint if it looked since the last time.
  void add(Listener& listener) noexcept {
    if (!listener.armed) return;
    listener.armed = false;
    if (count_ == listeners_.size()) {
      listener.wake_now();  // rare: more than fits; the lock keeps the endpoint alive
      return;
    }
    listener.pin();
    listeners_[count_++] = &listener;
  }

 private:
  std::array<Listener*, 16> listeners_{};
  size_t count_ = 0;
};

}  // namespace sluice
