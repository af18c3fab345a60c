#pragma once
#include <cstdint>
#include <span>

namespace sluice::jinja {

/// A set of code points as ascending boundaries: members lie in [b0, b1), [b2, b3) and so on.
extern const std::span<const uint32_t> kPrintable;
extern const std::span<const uint32_t> kAlpha;
extern const std::span<const uint32_t> kDecimal;
extern const std::span<const uint32_t> kDigit;
extern const std::span<const uint32_t> kNumeric;

/// Code points first, first + stride, .., last map to themselves plus `delta`.
struct CaseRun {
  uint32_t first;
  uint32_t last;
  uint32_t stride;
  int32_t delta;
};
/// A code point that maps to several, in UTF-8.
struct CaseSpecial {
  uint32_t from;
  const char* to;
};
extern const std::span<const CaseRun> kUpper;
extern const std::span<const CaseRun> kLower;
extern const std::span<const CaseRun> kTitle;
extern const std::span<const CaseSpecial> kUpperSpecial;
extern const std::span<const CaseSpecial> kLowerSpecial;
extern const std::span<const CaseSpecial> kTitleSpecial;

}  // namespace sluice::jinja
