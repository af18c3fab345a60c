#include "envs/text/expression.h"

#include "envs/text/formula_tokens.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

using Kind = Expression::Kind;
using TokenKind = FormulaToken::Kind;

// Recursive descent, one function per binding strength. Every failure leaves a status and returns
// -1, which every caller hands on.
class FormulaParser {
 public:
  explicit FormulaParser(std::vector<FormulaToken> tokens) : tokens_(std::move(tokens)) {}

  Result<Expression> parse() {
    const int root = sum();
    if (root >= 0 && !at(TokenKind::End)) fail("did not expect '{}' here", token().text);
    if (!status_.ok()) return status_;
    return Expression{std::move(nodes_)};
  }

 private:
  [[nodiscard]] const FormulaToken& token() const { return tokens_[next_]; }
  [[nodiscard]] bool at(TokenKind kind) const { return token().kind == kind; }
  [[nodiscard]] bool at(std::string_view text) const {
    return at(TokenKind::Operator) && token().text == text;
  }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    ++next_;
    return true;
  }

  template <class... A>
  int fail(fmt::format_string<A...> format, A&&... args) {
    if (status_.ok()) status_ = invalid_argument(format, std::forward<A>(args)...);
    return -1;
  }

  int add(Kind kind, std::string text, int left = -1, int right = -1) {
    if (nodes_.size() >= kMaxExpressionNodes) {
      status_ =
          error(Code::ResourceExhausted, "a formula of more than {} parts", kMaxExpressionNodes);
      return -1;
    }
    nodes_.push_back({kind, std::move(text), left, right});
    return static_cast<int>(nodes_.size()) - 1;
  }
  int join(Kind kind, int left, int right) {
    if (left < 0 || right < 0) return -1;
    return add(kind, "", left, right);
  }

  int sum() {
    if (++depth_ > kMaxExpressionDepth) {
      status_ =
          error(Code::ResourceExhausted, "a formula nested deeper than {}", kMaxExpressionDepth);
      return -1;
    }
    int left = product();
    while (left >= 0 && (at("+") || at("-"))) {
      const bool minus = token().text == "-";
      ++next_;
      int right = product();
      if (minus) right = negate(right);
      left = join(Kind::Add, left, right);
    }
    --depth_;
    return left;
  }

  int negate(int operand) { return operand < 0 ? -1 : add(Kind::Negate, "", operand); }

  // Both signs bind as in "-x^2" and "2*-3".
  int sign() {
    bool negative = false;
    while (at("-") || at("+")) {
      negative ^= token().text == "-";
      ++next_;
    }
    const int operand = power();
    return negative ? negate(operand) : operand;
  }

  int product() {
    int left = sign();
    while (left >= 0) {
      if (take("*")) {
        left = join(Kind::Multiply, left, sign());
      } else if (take("/")) {
        left = join(Kind::Divide, left, sign());
      } else if (begins_factor()) {
        left = join(Kind::Multiply, left, power());
      } else {
        break;
      }
    }
    return left;
  }

  // What may follow a factor without a sign between: "2x", "2(x+1)", but not "2 3".
  [[nodiscard]] bool begins_factor() const {
    if (at(TokenKind::Name) || at(TokenKind::Command)) return true;
    return at("(") || at("[") || at("{");
  }

  int power() {
    const int base = atom();
    if (base < 0 || !take("^")) return base;
    // Right to left: 2^3^2 is 2^9.
    if (++depth_ > kMaxExpressionDepth) return fail("powers nested too deep");
    const int exponent = sign();
    --depth_;
    return join(Kind::Power, base, exponent);
  }

  int bracketed(std::string_view close) {
    ++next_;
    const int inside = sum();
    if (inside < 0) return -1;
    if (!take(close)) return fail("'{}' is missing before '{}'", close, token().text);
    return inside;
  }

  int atom() {
    switch (token().kind) {
      case TokenKind::Number: {
        const std::string digits = token().text;
        ++next_;
        // "2 1/2" and "2 3" are no products.
        if (at(TokenKind::Number)) return fail("did not expect '{}' here", token().text);
        return add(Kind::Number, digits);
      }
      case TokenKind::Name: {
        const std::string text = token().text;
        ++next_;
        return is_formula_function(text) ? call(text) : add(Kind::Symbol, text);
      }
      case TokenKind::Command:
        return command();
      case TokenKind::Operator:
        if (at("(")) return bracketed(")");
        if (at("[")) return bracketed("]");
        if (at("{")) return bracketed("}");
        if (at("|")) {
          const int inside = bracketed("|");
          return inside < 0 ? -1 : add(Kind::Call, "abs", inside);
        }
        return fail("did not expect '{}' here", token().text);
      case TokenKind::End:
        break;
    }
    return fail("the formula ends too early");
  }

  // sin x, sin(x), sin^2 x.
  int call(const std::string& text) {
    int exponent = -1;
    if (take("^")) {
      exponent = atom();
      if (exponent < 0) return -1;
    }
    const int argument = at("(") || at("{") || at("[") ? atom() : power();
    if (argument < 0) return -1;
    const int value = add(Kind::Call, text, argument);
    return exponent < 0 ? value : join(Kind::Power, value, exponent);
  }

  // {..} or, as LaTeX has it, one token: \frac12.
  int argument() {
    if (at("{")) return bracketed("}");
    if (at(TokenKind::Number) && token().text.size() > 1) {
      const std::string digit = token().text.substr(0, 1);
      tokens_[next_].text.erase(0, 1);
      return add(Kind::Number, digit);
    }
    // The rest of a split number stands right behind this one.
    if (at(TokenKind::Number)) {
      const std::string digit = token().text;
      ++next_;
      return add(Kind::Number, digit);
    }
    return atom();
  }

  int command() {
    const std::string text = token().text;
    ++next_;
    if (text == "frac") {
      const int above = argument();
      if (above < 0) return -1;
      return join(Kind::Divide, above, argument());
    }
    if (text == "sqrt") {
      int degree = -1;
      if (at("[")) {
        degree = bracketed("]");
        if (degree < 0) return -1;
      }
      const int radicand = argument();
      if (radicand < 0) return -1;
      if (degree < 0) return add(Kind::Call, "sqrt", radicand);
      const int one = add(Kind::Number, "1");
      return join(Kind::Power, radicand, join(Kind::Divide, one, degree));
    }
    return fail("unknown command '\\{}'", text);
  }

  std::vector<FormulaToken> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
  Status status_;
  std::vector<Expression::Node> nodes_;
};

}  // namespace

Result<Expression> parse_expression(std::string_view text) {
  if (text.size() > kMaxExpressionBytes) {
    return error(Code::ResourceExhausted, "a formula of {} bytes; at most {} are read", text.size(),
                 kMaxExpressionBytes);
  }
  ASSIGN_OR_RETURN(std::vector<FormulaToken> tokens, formula_tokens(text));
  return FormulaParser(std::move(tokens)).parse();
}

}  // namespace sluice
