#pragma once
#include "models/tokenizer/unicode.h"
#include "models/tokenizer/utf8.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// Pre-tokenizers that are known by heart: hand-written twins of the patterns of byte-level models.
enum class KnownSplit : uint8_t {
  Gpt2,    ///< ByteLevel's own pattern
  SmolLm,  ///< every digit by itself, then Gpt2
  Llama3,  ///< up to three digits together
  Qwen2,   ///< every digit by itself, after the contractions
};

/// The pattern of a Split pre-tokenizer, when it is a known one.
[[nodiscard]] std::optional<KnownSplit> known_pattern(std::string_view pattern);

/// ByteLevel's own pattern.
extern const char* const kGpt2Pattern;

/// Finds where words end. `end` is the end of the text; all pointers lie at borders of characters
/// of valid UTF-8.
class WordScanner {
 public:
  WordScanner() : classes_(unicode::Classes::get()) {}

  /// The end of the word that begins at p (p < end).
  template <KnownSplit kind>
  [[nodiscard]] const char* next(const char* p, const char* end) const {
    if constexpr (kind == KnownSplit::Gpt2) return gpt2<false>(p, end);
    if constexpr (kind == KnownSplit::SmolLm) return gpt2<true>(p, end);
    if constexpr (kind == KnownSplit::Llama3) return llama<3>(p, end);
    return llama<1>(p, end);
  }

 private:
  static constexpr uint8_t kKnown = unicode::kSpace | unicode::kLetter | unicode::kNumber;

  struct Char {
    uint8_t flags;
    uint8_t length;
  };
  [[nodiscard]] Char at(const char* p) const {
    if (static_cast<unsigned char>(*p) < 0x80) return {classes_.of(static_cast<char32_t>(*p)), 1};
    return {classes_.of(utf8::decode(p)), static_cast<uint8_t>(utf8::length_of(*p))};
  }
  /// Passes over characters that have one of `flags`.
  [[nodiscard]] const char* run(const char* p, const char* end, uint8_t flags) const {
    while (p < end) {
      const Char c = at(p);
      if ((c.flags & flags) == 0) break;
      p += c.length;
    }
    return p;
  }
  /// Passes over characters that have none of `flags`.
  [[nodiscard]] const char* run_without(const char* p, const char* end, uint8_t flags) const {
    while (p < end) {
      const Char c = at(p);
      if ((c.flags & flags) != 0) break;
      p += c.length;
    }
    return p;
  }

  /// \s+(?!\S)|\s+ where the run [p, e) is all of the white space; `open`: what follows is not \S.
  [[nodiscard]] static const char* space(const char* p, const char* e, bool open) {
    if (open) return e;
    const char* const last = utf8::previous(e);
    return last > p ? last : e;
  }

  template <bool split_digits>
  [[nodiscard]] const char* gpt2(const char* p, const char* end) const;
  template <int digits>
  [[nodiscard]] const char* llama(const char* p, const char* end) const;

  /// Length of a contraction behind the apostrophe at p, or 0.
  template <bool fold_case>
  [[nodiscard]] static size_t contraction(const char* p, const char* end);

  const unicode::Classes& classes_;
};

template <bool fold_case>
size_t WordScanner::contraction(const char* p, const char* end) {
  const auto letter = [&](ptrdiff_t i) -> char {
    if (end - p <= i) return '\0';
    return fold_case && p[i] >= 'A' && p[i] <= 'Z' ? static_cast<char>(p[i] | 0x20) : p[i];
  };
  const char a = letter(1);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  const char b = letter(2);
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  // Long s folds to s.
  if (fold_case && a == '\xC5' && b == '\xBF') return 3;
  return 0;
}

template <bool split_digits>
const char* WordScanner::gpt2(const char* p, const char* end) const {
  constexpr uint8_t kStop = split_digits ? kKnown | unicode::kNumeric : kKnown;
  if (*p == '\'') {
    if (const size_t n = contraction<false>(p, end); n != 0) return p + n;
  }
  Char c = at(p);
  if (split_digits && (c.flags & unicode::kNumeric) != 0) return p + c.length;
  const char* q = p;
  if (*p == ' ' && p + 1 < end) {
    const Char behind = at(p + 1);
    if (split_digits && (behind.flags & unicode::kNumeric) != 0) return p + 1;
    if ((behind.flags & unicode::kSpace) == 0) {
      ++q;
      c = behind;
    }
  }
  if ((c.flags & unicode::kSpace) != 0) {
    const char* const e = run(p, end, unicode::kSpace);
    // With digits cut out beforehand the text ends before each.
    const bool open = e == end || (split_digits && (at(e).flags & unicode::kNumeric) != 0);
    return space(p, e, open);
  }
  if ((c.flags & unicode::kLetter) != 0) return run(q + c.length, end, unicode::kLetter);
  if ((c.flags & unicode::kNumber) != 0) return run(q + c.length, end, unicode::kNumber);
  return run_without(q + c.length, end, kStop);
}

template <int digits>
const char* WordScanner::llama(const char* p, const char* end) const {
  if (*p == '\'') {
    if (const size_t n = contraction<true>(p, end); n != 0) return p + n;
  }
  const auto newline = [](char c) { return c == '\r' || c == '\n'; };
  const Char c = at(p);
  if ((c.flags & unicode::kLetter) != 0) return run(p + c.length, end, unicode::kLetter);
  if ((c.flags & unicode::kNumber) != 0) {
    p += c.length;
    for (int i = 1; i < digits && p < end; ++i) {
      const Char next = at(p);
      if ((next.flags & unicode::kNumber) == 0) break;
      p += next.length;
    }
    return p;
  }
  const char* const q = p + c.length;
  if (!newline(*p) && q < end && (at(q).flags & unicode::kLetter) != 0) {
    return run(q, end, unicode::kLetter);
  }
  const auto others = [&](const char* from) {
    const char* e = run_without(from, end, kKnown);
    while (e < end && newline(*e)) ++e;
    return e;
  };
  if ((c.flags & unicode::kSpace) == 0) return others(q);
  if (*p == ' ' && q < end && (at(q).flags & kKnown) == 0) return others(q);
  const char* const e = run(p, end, unicode::kSpace);
  for (const char* last = e; last > p; --last) {
    if (newline(last[-1])) return last;
  }
  return space(p, e, e == end);
}

}  // namespace sluice
