#pragma once
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace sluice {

/// Which part of its work a worker is at, for the message about a step that hangs. The worker's
/// thread writes, any thread may read; both are plain loads and stores.
///
///   Whereabouts where;
///   where.call("environment 'CartPole-v1'", "slot");   // once
///   where.enter(slot, step);                            // before the foreign call
///   where.leave();                                      // after it
class Whereabouts {
 public:
  /// What the numbers of enter() mean. Only before another thread can see this object.
  void call(std::string what, std::string part) {
    what_ = std::move(what);
    part_ = std::move(part);
  }

  void enter(int64_t part, int64_t step) noexcept {
    step_.store(step, std::memory_order_relaxed);
    at_.store(part, std::memory_order_relaxed);
  }
  void leave() noexcept { at_.store(kNowhere, std::memory_order_relaxed); }

  /// "environment 'CartPole-v1', slot 3, step 40"; "" between two parts.
  [[nodiscard]] std::string text() const {
    const int64_t part = at_.load(std::memory_order_relaxed);
    if (part == kNowhere) return "";
    return fmt::format("{}, {} {}, step {}", what_, part_, part,
                       step_.load(std::memory_order_relaxed));
  }

 private:
  static constexpr int64_t kNowhere = -1;
  std::string what_;
  std::string part_;
  std::atomic<int64_t> at_{kNowhere};
  std::atomic<int64_t> step_{0};
};

}  // namespace sluice
