#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// A doubly linked list over the numbers 0..capacity-1, each at most once: O(1) everywhere, and no
/// allocation after construction.
class SlotList {
 public:
  static constexpr int32_t kNone = -1;

  explicit SlotList(int64_t capacity)
      : next_(static_cast<size_t>(capacity), kNone), prev_(static_cast<size_t>(capacity), kNone) {}

  void push_back(int32_t slot) noexcept {
    next_[at(slot)] = kNone;
    prev_[at(slot)] = back_;
    (back_ == kNone ? front_ : next_[at(back_)]) = slot;
    back_ = slot;
    ++size_;
  }
  /// `slot` must be in the list.
  void erase(int32_t slot) noexcept {
    const int32_t before = prev_[at(slot)];
    const int32_t behind = next_[at(slot)];
    (before == kNone ? front_ : next_[at(before)]) = behind;
    (behind == kNone ? back_ : prev_[at(behind)]) = before;
    --size_;
  }
  /// kNone when empty.
  [[nodiscard]] int32_t front() const noexcept { return front_; }
  [[nodiscard]] int32_t back() const noexcept { return back_; }
  [[nodiscard]] int32_t next(int32_t slot) const noexcept { return next_[at(slot)]; }
  [[nodiscard]] int32_t prev(int32_t slot) const noexcept { return prev_[at(slot)]; }
  [[nodiscard]] int64_t size() const noexcept { return size_; }

 private:
  static size_t at(int32_t slot) noexcept { return static_cast<size_t>(slot); }

  std::vector<int32_t> next_;
  std::vector<int32_t> prev_;
  int32_t front_ = kNone;
  int32_t back_ = kNone;
  int64_t size_ = 0;
};

}  // namespace sluice
