#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One token of a formula in plain text or LaTeX.
struct FormulaToken {
  enum class Kind : uint8_t {
    Number,    ///< decimal digits, thousands' commas taken out
    Name,      ///< one letter, a Greek letter's name, or a function
    Command,   ///< LaTeX's "frac" or "sqrt", without the backslash
    Operator,  ///< one of + - * / ^ ( ) [ ] { } |
    End,
  };
  Kind kind = Kind::End;
  std::string text;
};

/// The tokens of `text`, the last of kind End. What only shapes the print is left out. A word of
/// letters that is no function is a product of its letters. InvalidArgument for signs that belong
/// to no formula.
Result<std::vector<FormulaToken>> formula_tokens(std::string_view text);

/// sin, ln, .. : names that take an argument.
[[nodiscard]] bool is_formula_function(std::string_view name);

}  // namespace sluice
