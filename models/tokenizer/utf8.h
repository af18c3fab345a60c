#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::utf8 {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  ///< U+FFFD

/// Bytes of the character that begins with `lead`, in text known to be valid.
[[nodiscard]] inline size_t length_of(char lead) {
  const auto b = static_cast<unsigned char>(lead);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

/// The character at `p`, in text known to be valid.
[[nodiscard]] inline char32_t decode(const char* p) {
  const auto b = [p](int i) { return static_cast<char32_t>(static_cast<unsigned char>(p[i])); };
  if (b(0) < 0x80) return b(0);
  if (b(0) < 0xE0) return (b(0) & 0x1F) << 6 | (b(1) & 0x3F);
  if (b(0) < 0xF0) return (b(0) & 0x0F) << 12 | (b(1) & 0x3F) << 6 | (b(2) & 0x3F);
  return (b(0) & 0x07) << 18 | (b(1) & 0x3F) << 12 | (b(2) & 0x3F) << 6 | (b(3) & 0x3F);
}

/// Where the character that ends before `p` begins, in text known to be valid.
[[nodiscard]] inline const char* previous(const char* p) {
  do {
    --p;
  } while ((*p & 0xC0) == 0x80);
  return p;
}

void append(std::string& text, char32_t c);

/// What the bytes at `p` (p < end) are: a whole character, or an ill-formed maximal subpart (to be
/// replaced as one), or the beginning of a character that `end` cuts off.
struct Sequence {
  enum class Kind : uint8_t { Character, IllFormed, Incomplete };
  Kind kind;
  size_t length;
};
[[nodiscard]] Sequence next(const char* p, const char* end);

/// Bytes from the beginning that are valid.
[[nodiscard]] size_t valid_prefix(std::string_view text);
[[nodiscard]] inline bool valid(std::string_view text) { return valid_prefix(text) == text.size(); }

/// Every ill-formed maximal subpart becomes one U+FFFD, as Python's decode(errors="replace") and
/// Rust's from_utf8_lossy do it (Unicode 15, section 3.9, table 3-8).
[[nodiscard]] std::string replace_invalid(std::string_view text);

/// The same, appended piece by piece: what is certain goes to `out`, the beginning of a character
/// that may still become whole (at most 3 bytes) stays in `pending`.
void append_lossy(std::string& pending, std::string_view more, std::string& out);

}  // namespace sluice::utf8
