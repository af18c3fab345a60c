// SentencePiece's compiled character map: a double-array trie (Aoe 1989; the unit layout is that of
// the Darts-clone file format) whose values are offsets into a block of NUL-terminated
// replacements.
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/utf8.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <array>
#include <cstring>

namespace sluice {
namespace {

constexpr size_t kLongestGrapheme = 6;  // longer ones are looked up character by character

Result<std::string> decode_base64(std::string_view text, const JsonFields& fields) {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kDigits.size(); ++i) {
    digits[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  }
  if (text.size() % 4 != 0) return fields.wrong("precompiled_charsmap", "is not base64");
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = digits[static_cast<unsigned char>(c)];
    if (digit < 0) return fields.wrong("precompiled_charsmap", "is not base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  return bytes;
}

class Charsmap final : public NormalizerStage {
 public:
  Charsmap(std::vector<uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  Status apply(std::string& text) const override {
    UErrorCode code = U_ZERO_ERROR;
    UText input = UTEXT_INITIALIZER;
    utext_openUTF8(&input, text.data(), static_cast<int64_t>(text.size()), &code);
    UBreakIterator* const breaks = ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &code);
    if (U_SUCCESS(code) != 0) ubrk_setUText(breaks, &input, &code);
    std::string out;
    if (U_SUCCESS(code) != 0) {
      int32_t begin = ubrk_first(breaks);
      for (int32_t end = ubrk_next(breaks); end != UBRK_DONE; end = ubrk_next(breaks)) {
        rewrite(std::string_view(text).substr(begin, end - begin), out);
        begin = end;
      }
    }
    ubrk_close(breaks);
    utext_close(&input);
    if (U_FAILURE(code) != 0) {
      return error(Code::Internal, "splitting into graphemes: {}", u_errorName(code));
    }
    text = std::move(out);
    return {};
  }

 private:
  void rewrite(std::string_view grapheme, std::string& out) const {
    if (grapheme.size() < kLongestGrapheme) {
      if (const char* found = find(grapheme)) {
        out += found;
        return;
      }
    }
    for (size_t at = 0; at < grapheme.size();) {
      const std::string_view c = grapheme.substr(at, utf8::length_of(grapheme[at]));
      if (const char* found = find(c)) {
        out += found;
      } else {
        out += c;
      }
      at += c.size();
    }
  }

  /// The replacement of the shortest entry that is a prefix of the text; null when there is none.
  [[nodiscard]] const char* find(std::string_view text) const {
    const auto offset = [](uint32_t unit) { return unit >> 10 << ((unit & 1U << 9) >> 6); };
    size_t node = 0;
    uint32_t unit = units_[0];
    node ^= offset(unit);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) break;
      node ^= byte;
      if (node >= units_.size()) return nullptr;
      unit = units_[node];
      if ((unit & (1U << 31 | 0xFF)) != byte) return nullptr;
      node ^= offset(unit);
      if ((unit >> 8 & 1) == 0) continue;
      if (node >= units_.size()) return nullptr;
      const uint32_t at = units_[node] & ((1U << 31) - 1);
      // Everything behind this stage takes the text for valid UTF-8: none begins inside a
      // character.
      if (at >= replacements_.size() || (replacements_[at] & 0xC0) == 0x80) return nullptr;
      return replacements_.data() + at;
    }
    return nullptr;
  }

  std::vector<uint32_t> units_;
  std::string replacements_;  ///< std::string puts a NUL behind the last one
};

}  // namespace

Result<std::unique_ptr<NormalizerStage>> make_charsmap(const JsonFields& fields) {
  constexpr std::string_view kKey = "precompiled_charsmap";
  ASSIGN_OR_RETURN(const auto value, fields.require(kKey, JsonDoc::Kind::String));
  ASSIGN_OR_RETURN(const std::string bytes, decode_base64(value.string(), fields));
  uint32_t size = 0;
  if (bytes.size() < sizeof size) return fields.wrong(kKey, "is too short");
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof size) {
    return fields.wrong(kKey, fmt::format("says that its trie has {} of {} bytes", size,
                                          bytes.size() - sizeof size));
  }
  std::vector<uint32_t> units(size / 4);
  std::memcpy(units.data(), bytes.data() + sizeof size, size);
  std::string replacements = bytes.substr(sizeof size + size);
  if (!utf8::valid(replacements))
    return fields.wrong(kKey, "holds replacements that are not UTF-8");
  return std::unique_ptr<NormalizerStage>(
      std::make_unique<Charsmap>(std::move(units), std::move(replacements)));
}

}  // namespace sluice
