#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

/// A counter-based random stream: Philox4x32-10 (Salmon et al., SC 2011, "Parallel random numbers:
/// as easy as 1, 2, 3"). A key names a stream; a counter names a draw in it; the same pair gives
/// the same bits on every machine and in any order. A value type without state: copy it freely.
///
///   RandomKey root(seed);
///   RandomKey slot = root.split("rollout").split(replica).split(slot_index);
///   float u = slot.uniform(step);  // step is the counter
class RandomKey {
 public:
  explicit RandomKey(uint64_t seed) noexcept : key_(seed) {}

  /// An independent stream for a child. Splitting by different names or numbers never collides in
  /// practice (64-bit mixing).
  [[nodiscard]] RandomKey split(std::string_view name) const noexcept;
  [[nodiscard]] RandomKey split(uint64_t number) const noexcept;

  /// 128 random bits for draw `counter`.
  [[nodiscard]] std::array<uint32_t, 4> bits(uint64_t counter, uint64_t high = 0) const noexcept;
  /// 64 random bits; a good seed for other generators.
  [[nodiscard]] uint64_t word(uint64_t counter) const noexcept;
  /// Uniform in [0, 1), 24 bits.
  [[nodiscard]] float uniform(uint64_t counter) const noexcept;
  /// Two standard normal numbers (Box-Muller).
  [[nodiscard]] std::array<float, 2> normal(uint64_t counter) const noexcept;

  [[nodiscard]] uint64_t value() const noexcept { return key_; }

 private:
  uint64_t key_;
};

/// Fisher-Yates permutation of 0..n-1 into `out`, drawn from `key`: the order depends on nothing
/// else.
void shuffle(RandomKey key, int64_t n, int64_t* out) noexcept;

}  // namespace sluice
