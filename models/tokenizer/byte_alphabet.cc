#include "models/tokenizer/byte_alphabet.h"

#include "models/tokenizer/utf8.h"

#include <array>

namespace sluice::byte_alphabet {
namespace {

constexpr size_t kEnd = 0x100 + 68;

struct Tables {
  std::array<std::string, 256> texts;
  std::array<int16_t, kEnd> bytes;

  Tables() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      const char32_t c = itself ? static_cast<char32_t>(b) : next++;
      utf8::append(texts[b], c);
      bytes[c] = static_cast<int16_t>(b);
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

}  // namespace

std::string_view of(unsigned char byte) { return tables().texts[byte]; }

int byte_of(char32_t c) { return c < kEnd ? tables().bytes[c] : -1; }

std::string encode(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) text += of(static_cast<unsigned char>(c));
  return text;
}

bool decode(std::string_view text, std::string& out) {
  const size_t before = out.size();
  for (size_t i = 0; i < text.size(); i += utf8::length_of(text[i])) {
    const int byte = byte_of(utf8::decode(text.data() + i));
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte);
  }
  return true;
}

}  // namespace sluice::byte_alphabet
