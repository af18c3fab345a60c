#pragma once
#include "models/io/chat/lexer.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::jinja {

/// Reads a number literal at the start of `text` into `token` (kind, integer or real): decimal, 0x,
/// 0o, 0b, with '_' between digits, and floats unless `may_be_float` is false. Returns its length;
/// 0 when it does not fit in 64 bits.
[[nodiscard]] size_t scan_number(std::string_view text, bool may_be_float, Token& token);

/// What a Python string literal's inside means. False for an escape that Python refuses, for \N and
/// for lone surrogates.
[[nodiscard]] bool unescape(std::string_view text, std::string& out);

/// Python's int(text, base): sign, blanks around, '_' between digits, a prefix that fits the base.
/// False when it is no number; `overflow` tells one that needs more than 64 bits.
[[nodiscard]] bool parse_int(std::string_view text, int base, int64_t& value, bool& overflow);
/// Python's float(text).
[[nodiscard]] bool parse_float(std::string_view text, double& value);

}  // namespace sluice::jinja
