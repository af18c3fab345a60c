#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::byte_alphabet {

/// GPT-2's printable stand-ins for the 256 bytes: '!'..'~', U+00A1..U+00AC and U+00AE..U+00FF stand
/// for themselves, the other 68 bytes for U+0100 upward in order.

/// The stand-in of a byte as UTF-8.
[[nodiscard]] std::string_view of(unsigned char byte);
/// The byte a character stands for, or -1.
[[nodiscard]] int byte_of(char32_t c);

[[nodiscard]] std::string encode(std::string_view bytes);
/// Appends the bytes that valid UTF-8 stands for. False, with `out` as it was, when a character
/// lies outside the alphabet.
bool decode(std::string_view text, std::string& out);

}  // namespace sluice::byte_alphabet
