#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice {

/// A queue in a circular array that grows and never shrinks: no allocation in steady state.
template <class T>
class Ring {
 public:
  void push(T value) {
    if (size_ == cells_.size()) grow();
    cells_[(head_ + size_) % cells_.size()] = std::move(value);
    ++size_;
  }
  /// The queue must not be empty.
  T pop() {
    T value = std::move(cells_[head_]);
    head_ = (head_ + 1) % cells_.size();
    --size_;
    return value;
  }
  [[nodiscard]] size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  void grow() {
    std::vector<T> wider(cells_.empty() ? 8 : 2 * cells_.size());
    for (size_t i = 0; i < size_; ++i) wider[i] = std::move(cells_[(head_ + i) % cells_.size()]);
    cells_ = std::move(wider);
    head_ = 0;
  }

  std::vector<T> cells_;
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace sluice
