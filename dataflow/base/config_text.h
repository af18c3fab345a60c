#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// How configuration values are written as text. All parsers take the whole text or refuse it, and
/// none depends on the locale.

[[nodiscard]] std::string_view trim(std::string_view text);
/// true, false, 1, 0.
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);
/// 1000000, 1_000_000 or 1e6: anything that is exactly a whole number of 64 bits.
[[nodiscard]] std::optional<int64_t> parse_int(std::string_view text);
/// Decimal, with or without exponent or underscores, or inf; never NaN.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
/// "[1, 2]", "1,2", "" and "[]".
[[nodiscard]] std::optional<std::vector<int64_t>> parse_int_list(std::string_view text);

/// The shortest TOML float that reads back to the same bits.
[[nodiscard]] std::string toml_double(double value);
/// A TOML basic string, quoted and escaped.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace sluice
