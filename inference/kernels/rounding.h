#pragma once
#include <cstdint>
#include <cstring>

namespace sluice {

/// The nearest bf16, ties to even; not a number stays so.
[[nodiscard]] inline uint16_t bf16_of(float x) noexcept {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  if (x != x) return static_cast<uint16_t>((bits >> 16) | 0x40U);  // a quiet NaN, whatever its bits
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

[[nodiscard]] inline float float_of_bf16(uint16_t x) noexcept {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

}  // namespace sluice
