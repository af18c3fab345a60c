#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A formula as a tree, read from plain text or LaTeX: numbers, one-letter symbols (and Greek
/// ones),
/// + - * / ^ !, juxtaposition as product, brackets, \frac \dfrac \tfrac \sqrt[n]{} \cdot \times
/// \div \pi, sqrt, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, ln, log (both natural),
/// abs and |x|. "$", "\left", "\right", "\,", "\text{..}" behind the formula, degree and percent
/// signs are left out. Nothing is computed and nothing is evaluated as code.
struct Expression {
  enum class Kind : uint8_t { Number, Symbol, Add, Multiply, Divide, Power, Negate, Call };
  struct Node {
    Kind kind = Kind::Number;
    std::string text;  ///< Number: decimal digits; Symbol, Call: the name
    int left = -1;     ///< index of the (first) operand
    int right = -1;    ///< index of the second one
  };
  /// Operands come before what uses them; the last node is the root.
  std::vector<Node> nodes;
};

/// Bounds of what parse_expression takes.
inline constexpr size_t kMaxExpressionBytes = 1000;
inline constexpr size_t kMaxExpressionNodes = 256;
inline constexpr int kMaxExpressionDepth = 64;

/// InvalidArgument says what stands where nothing is understood; ResourceExhausted when it is too
/// long or nested too deep.
Result<Expression> parse_expression(std::string_view text);

}  // namespace sluice
