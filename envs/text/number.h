#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The last number in a text as it stands there, or "": digits, with thousands separated by commas
/// ("1,234"), with decimals ("3.50", ".5"), a fraction without spaces ("-3/4"), and a sign if one
/// stands right before it and nothing that it could be subtracted from before that: "3-8" ends in
/// 8, "= -8" in -8. A comma or dot that ends a sentence is no part of it.
[[nodiscard]] std::string_view last_number(std::string_view text) noexcept;

/// One way to write each decimal number, so that two are equal when their texts are: "1,200.50" is
/// "1200.5", "+07" is "7", "-0.0" is "0". Exact whatever its length. Nothing for a text that is
/// not one decimal number (a fraction is none).
[[nodiscard]] std::optional<std::string> canonical_decimal(std::string_view text);

}  // namespace sluice
