#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::unicode {

/// Properties of a character as the parts of Hugging Face `tokenizers` see them. Its parts come
/// from three libraries with three versions of Unicode; each flag follows the part it is for.
enum Flag : uint8_t {
  kLetter = 1,        ///< \p{L} of a Split regex
  kNumber = 2,        ///< \p{N} of a Split regex
  kSpace = 4,         ///< \s, White_Space
  kMark = 8,          ///< what StripAccents removes
  kPunctuation = 16,  ///< the Punctuation pre-tokenizer's
  kWord = 32,         ///< \w of added tokens and of the Whitespace pre-tokenizer
  kNumeric = 64,      ///< what Digits takes for one
};

/// Flags of every code point, in two stages.
class Classes {
 public:
  static const Classes& get();
  [[nodiscard]] uint8_t of(char32_t c) const {
    return flags_[static_cast<size_t>(page_[c >> 8]) << 8 | (c & 0xFF)];
  }
  [[nodiscard]] bool is(char32_t c, uint8_t flags) const { return (of(c) & flags) != 0; }

 private:
  Classes();
  std::array<uint8_t, 0x1100> page_{};
  std::vector<uint8_t> flags_;
};

/// Flags of the character at `p`, in valid UTF-8.
[[nodiscard]] uint8_t flags_at(const char* p);

/// Code points that the regex library does not know, or knows as something else, replaced by one of
/// the same class and length in UTF-8, so that offsets stay. False: nothing to replace, `out` is
/// left alone.
bool proxy_for_regex(std::string_view text, std::string& out);

enum class Form : uint8_t { Nfc, Nfd, Nfkc, Nfkd };

/// Each function replaces valid UTF-8 by valid UTF-8.
void normalize(Form form, std::string& text);
/// Every character by itself, as Rust's char::to_lowercase: no final sigma.
void lowercase(std::string& text);
void strip_accents(std::string& text);

}  // namespace sluice::unicode
