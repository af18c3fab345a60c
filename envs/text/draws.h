#pragma once
#include "dataflow/base/random.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// Random choices one after the other out of a key: what a generated problem is made of. The same
/// key gives the same choices. For one thread.
class Draws {
 public:
  explicit Draws(RandomKey key) : key_(key) {}

  /// 0 <= result < n, n > 0. The bias is below n / 2^64.
  int64_t below(int64_t n) {
    return static_cast<int64_t>(key_.word(drawn_++) % static_cast<uint64_t>(n));
  }
  /// low <= result <= high.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool coin() { return below(2) == 1; }

  template <class T, size_t N>
  const T& pick(const T (&from)[N]) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(N)))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  RandomKey key_;
  uint64_t drawn_ = 0;
};

}  // namespace sluice
