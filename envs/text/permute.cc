#include "envs/text/permute.h"

#include <bit>

namespace sluice {

int64_t permuted(RandomKey key, int64_t n, int64_t index) noexcept {
  constexpr uint64_t kRounds = 6;
  const int bits = std::bit_width(static_cast<uint64_t>(n > 1 ? n - 1 : 1));
  const int half = (bits + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const auto drawn = key.bits(right, round);
      const uint64_t mixed = left ^ (((static_cast<uint64_t>(drawn[1]) << 32) | drawn[0]) & mask);
      left = right;
      right = mixed;
    }
    value = (left << half) | right;
  } while (value >= static_cast<uint64_t>(n));
  return static_cast<int64_t>(value);
}

}  // namespace sluice
