#include "models/io/chat/unicode.h"

#include "models/io/chat/unicode_tables.h"

#include <algorithm>
#include <span>

namespace sluice::jinja {

namespace {

bool contains(std::span<const uint32_t> boundaries, char32_t c) noexcept {
  const auto after = std::upper_bound(boundaries.begin(), boundaries.end(), uint32_t{c});
  return (after - boundaries.begin()) % 2 == 1;
}

const CaseRun* find_run(std::span<const CaseRun> runs, char32_t c) noexcept {
  // Runs of stride 2 may interleave with the next one, so two candidates are looked at.
  auto after =
      std::upper_bound(runs.begin(), runs.end(), uint32_t{c},
                       [](uint32_t value, const CaseRun& run) { return value < run.first; });
  for (int tries = 0; tries < 2 && after != runs.begin(); ++tries) {
    --after;
    if (c <= after->last && (c - after->first) % after->stride == 0) return &*after;
  }
  return nullptr;
}

const CaseSpecial* find_special(std::span<const CaseSpecial> specials, char32_t c) noexcept {
  const auto at = std::lower_bound(
      specials.begin(), specials.end(), uint32_t{c},
      [](const CaseSpecial& special, uint32_t value) { return special.from < value; });
  return at != specials.end() && at->from == c ? &*at : nullptr;
}

void append_mapped(char32_t c, std::span<const CaseRun> runs, std::span<const CaseSpecial> specials,
                   std::string& out) {
  if (const CaseSpecial* special = find_special(specials, c)) {
    out += special->to;
  } else if (const CaseRun* run = find_run(runs, c)) {
    append_utf8(static_cast<char32_t>(static_cast<int32_t>(c) + run->delta), out);
  } else {
    append_utf8(c, out);
  }
}

bool continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool cased(char32_t c) noexcept { return is_lower(c) || is_upper(c); }
// The characters that Unicode's rule for the final sigma looks through, as far as text has them.
bool case_ignorable(char32_t c) noexcept {
  return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xA8 || c == 0xAD ||
         c == 0xB7 || c == 0x2019 || (c >= 0x300 && c <= 0x36F);
}

bool final_sigma(std::string_view text, size_t offset, size_t size) noexcept {
  bool before = false;
  for (size_t at = offset; at > 0 && !before;) {
    at = previous_offset(text, at);
    const char32_t c = code_point_at(text, at).value;
    if (case_ignorable(c)) continue;
    if (!cased(c)) return false;
    before = true;
  }
  for (size_t at = offset + size; before && at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    if (!case_ignorable(next.value)) return !cased(next.value);
    at += next.size;
  }
  return before;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t offset) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned char lead = byte(0);
  // Bytes that begin nothing map into the private range above Unicode, so that they equal no
  // character.
  const CodePoint invalid{0x110000u + lead, 1};
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || offset + size > text.size()) return invalid;
  char32_t value = lead & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (!continuation(text[offset + i])) return invalid;
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return invalid;
  return {value, size};
}

size_t previous_offset(std::string_view text, size_t end) noexcept {
  for (size_t back = 1; back <= 4 && back <= end; ++back) {
    if (continuation(text[end - back])) continue;
    if (code_point_at(text, end - back).size == back) return end - back;
    break;
  }
  return end - 1;
}

bool valid_utf8(std::string_view text) noexcept {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.value > 0x10FFFF) return false;
    at += c.size;
  }
  return true;
}

int64_t code_points(std::string_view text) noexcept {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += code_point_at(text, at).size;
  return count;
}

size_t byte_offset(std::string_view text, int64_t index) noexcept {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += code_point_at(text, at).size;
  return at;
}

void append_utf8(char32_t value, std::string& out) {
  if (value < 0x80) {
    out += static_cast<char>(value);
  } else if (value < 0x800) {
    out += static_cast<char>(0xC0 | value >> 6);
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    out += static_cast<char>(0xE0 | value >> 12);
    out += static_cast<char>(0x80 | (value >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else if (value <= 0x10FFFF) {
    out += static_cast<char>(0xF0 | value >> 18);
    out += static_cast<char>(0x80 | (value >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (value >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (value & 0x3F));
  } else {
    out += static_cast<char>(value - 0x110000);
  }
}

bool is_space(char32_t c) noexcept {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool is_printable(char32_t c) noexcept { return contains(kPrintable, c); }
bool is_alpha(char32_t c) noexcept { return contains(kAlpha, c); }
bool is_decimal(char32_t c) noexcept { return contains(kDecimal, c); }
bool is_digit(char32_t c) noexcept { return contains(kDigit, c); }
bool is_numeric(char32_t c) noexcept { return contains(kNumeric, c); }
bool is_lower(char32_t c) noexcept { return find_run(kUpper, c) || find_special(kUpperSpecial, c); }
bool is_upper(char32_t c) noexcept { return find_run(kLower, c) || find_special(kLowerSpecial, c); }

void append_upper(char32_t c, std::string& out) { append_mapped(c, kUpper, kUpperSpecial, out); }
void append_lower(char32_t c, std::string& out) { append_mapped(c, kLower, kLowerSpecial, out); }
void append_title(char32_t c, std::string& out) { append_mapped(c, kTitle, kTitleSpecial, out); }

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_upper(c.value, out);
    at += c.size;
  }
  return out;
}

std::string to_lower(std::string_view text) {
  constexpr char32_t kSigma = 0x3A3;
  constexpr char32_t kFinalSigma = 0x3C2;
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.value == kSigma && final_sigma(text, at, c.size)) {
      append_utf8(kFinalSigma, out);
    } else {
      append_lower(c.value, out);
    }
    at += c.size;
  }
  return out;
}

std::string_view strip_left(std::string_view text) noexcept {
  while (!text.empty()) {
    const CodePoint c = code_point_at(text, 0);
    if (!is_space(c.value)) break;
    text.remove_prefix(c.size);
  }
  return text;
}

std::string_view strip_right(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t at = previous_offset(text, text.size());
    if (!is_space(code_point_at(text, at).value)) break;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace sluice::jinja
