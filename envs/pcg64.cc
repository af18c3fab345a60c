#include "envs/pcg64.h"

#include <array>
#include <bit>

namespace sluice {
namespace {

__extension__ using U128 = unsigned __int128;  // __extension__: -Wpedantic knows no 128-bit type

constexpr U128 join(uint64_t high, uint64_t low) { return (U128{high} << 64) | low; }
constexpr U128 kMultiplier = join(0x2360ed051fc65da4, 0x4385df649fccf645);

void advance(Pcg64::State& s) {
  const U128 next = join(s.high, s.low) * kMultiplier + join(s.increment_high, s.increment_low);
  s.high = static_cast<uint64_t>(next >> 64);
  s.low = static_cast<uint64_t>(next);
}

constexpr uint32_t fold(uint32_t value) { return value ^ (value >> 16); }

/// NumPy's SeedSequence(seed).generate_state(4, uint64), after O'Neill's seed_seq_fe128.
std::array<uint64_t, 4> seed_sequence(uint64_t seed) {
  uint32_t key = 0x43b0d7e5;
  auto hash = [&key](uint32_t value) {
    value ^= key;
    key *= 0x931e8875;
    return fold(value * key);
  };
  std::array<uint32_t, 4> pool{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), 0,
                               0};
  for (uint32_t& word : pool) word = hash(word);
  for (uint32_t from = 0; from < pool.size(); ++from) {
    for (uint32_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = fold(0xca01f9dd * pool[to] - 0x4973f715 * hash(pool[from]));
    }
  }
  key = 0x8b51f9dd;
  std::array<uint64_t, 4> words{};
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t value = pool[i % 4] ^ key;
    key *= 0x58f38ded;
    value = fold(value * key);
    words[i / 2] |= uint64_t{value} << (32 * (i % 2));
  }
  return words;
}

}  // namespace

Pcg64::Pcg64(uint64_t seed) noexcept {
  const auto words = seed_sequence(seed);
  state_.increment_high = (words[2] << 1) | (words[3] >> 63);
  state_.increment_low = (words[3] << 1) | 1;
  advance(state_);
  const U128 start = join(state_.high, state_.low) + join(words[0], words[1]);
  state_.high = static_cast<uint64_t>(start >> 64);
  state_.low = static_cast<uint64_t>(start);
  advance(state_);
}

uint64_t Pcg64::next() noexcept {
  advance(state_);
  return std::rotr(state_.high ^ state_.low, static_cast<int>(state_.high >> 58));
}

}  // namespace sluice
