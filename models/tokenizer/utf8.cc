#include "models/tokenizer/utf8.h"

#include <cstring>

namespace sluice::utf8 {

void append(std::string& text, char32_t c) {
  const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

Sequence next(const char* p, const char* end) {
  using Kind = Sequence::Kind;
  const auto byte = [p](size_t i) { return static_cast<unsigned char>(p[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {Kind::Character, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Kind::IllFormed, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Only the second byte has bounds of its own: they keep out overlong forms, surrogates and what
  // lies beyond U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i) {
    if (p + i == end) return {Kind::Incomplete, i};
    if (byte(i) < low || byte(i) > high) return {Kind::IllFormed, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Kind::Character, length};
}

size_t valid_prefix(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    uint64_t eight = 0;
    while (end - p >= 8) {
      std::memcpy(&eight, p, 8);
      if ((eight & 0x8080808080808080U) != 0) break;
      p += 8;
    }
    if (p == end) break;
    const Sequence s = next(p, end);
    if (s.kind != Sequence::Kind::Character) break;
    p += s.length;
  }
  return static_cast<size_t>(p - text.data());
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  std::string pending;
  append_lossy(pending, text, out);
  if (!pending.empty()) out += kReplacement;
  return out;
}

void append_lossy(std::string& pending, std::string_view more, std::string& out) {
  std::string joined;
  if (!pending.empty()) {
    joined = pending;
    joined += more;
    more = joined;
    pending.clear();
  }
  while (!more.empty()) {
    const size_t good = valid_prefix(more);
    out += more.substr(0, good);
    more.remove_prefix(good);
    if (more.empty()) return;
    const Sequence s = next(more.data(), more.data() + more.size());
    if (s.kind == Sequence::Kind::Incomplete) {
      pending = more;
      return;
    }
    out += kReplacement;
    more.remove_prefix(s.length);
  }
}

}  // namespace sluice::utf8
