#include "dataflow/base/random.h"

#include <cmath>
#include <numbers>

namespace sluice {
namespace {

// SplitMix64's finaliser (Steele et al., OOPSLA 2014): a full-avalanche mix of 64 bits.
constexpr uint64_t mix(uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr float to_unit(uint32_t bits) noexcept {
  return static_cast<float>(bits >> 8) * 0x1.0p-24F;
}

}  // namespace

RandomKey RandomKey::split(std::string_view name) const noexcept {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a, then mixed
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return RandomKey(mix(key_ ^ mix(hash ^ 0x5a5a5a5a5a5a5a5aULL)));
}

RandomKey RandomKey::split(uint64_t number) const noexcept {
  return RandomKey(mix(key_ + 0x632be59bd9b4e019ULL * (mix(number) | 1U)));
}

std::array<uint32_t, 4> RandomKey::bits(uint64_t counter, uint64_t high) const noexcept {
  std::array<uint32_t, 4> c{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                            static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
  auto k0 = static_cast<uint32_t>(key_);
  auto k1 = static_cast<uint32_t>(key_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ULL * c[0];
    const uint64_t p1 = 0xCD9E8D57ULL * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

uint64_t RandomKey::word(uint64_t counter) const noexcept {
  const auto b = bits(counter);
  return (static_cast<uint64_t>(b[1]) << 32) | b[0];
}

float RandomKey::uniform(uint64_t counter) const noexcept { return to_unit(bits(counter)[0]); }

std::array<float, 2> RandomKey::normal(uint64_t counter) const noexcept {
  const auto b = bits(counter);
  const double u = (static_cast<double>(b[0]) + 1.0) * 0x1.0p-32;  // (0, 1]
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(b[1]) * 0x1.0p-32;
  return {static_cast<float>(radius * std::cos(angle)),
          static_cast<float>(radius * std::sin(angle))};
}

void shuffle(RandomKey key, int64_t n, int64_t* out) noexcept {
  for (int64_t i = 0; i < n; ++i) out[i] = i;
  std::array<uint32_t, 4> words{};
  for (int64_t i = n - 1; i > 0; --i) {
    // Lemire's multiply-shift. Four 32-bit draws share one block of bits: for any batch we can hold
    // the bias stays below n / 2^32.
    const auto draw = static_cast<uint64_t>(n - 1 - i);
    if (draw % 4 == 0) words = key.bits(draw / 4);
    const auto j = static_cast<int64_t>((words[draw % 4] * (static_cast<uint64_t>(i) + 1)) >> 32);
    const int64_t t = out[i];
    out[i] = out[j];
    out[j] = t;
  }
}

}  // namespace sluice
