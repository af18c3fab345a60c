#include "envs/text/algebra.h"

#include "dataflow/base/exclusive.h"

#include <ginac/ginac.h>

#include <cmath>
#include <map>

namespace sluice {
namespace {

using GiNaC::ex;
using GiNaC::ex_to;
using GiNaC::numeric;
using Kind = Expression::Kind;

constexpr double kMaxTerms = 3000;
constexpr double kMaxDegree = 200;
constexpr double kMaxBits = 20000;
constexpr double kMaxExponent = 1000;
constexpr int kDigits = 40;
constexpr double kTolerance = 2e-6;

// How large a polynomial can get when it is multiplied out.
struct Extent {
  double terms = 1;
  double degree = 0;
  double bits = 1;  // of the largest coefficient

  friend Extent operator*(Extent a, Extent b) {
    return {a.terms * b.terms, a.degree + b.degree,
            a.bits + b.bits + std::log2(std::max(1.0, std::min(a.terms, b.terms)))};
  }
  friend Extent operator+(Extent a, Extent b) {
    return {a.terms + b.terms, std::max(a.degree, b.degree), std::max(a.bits, b.bits) + 1};
  }
  [[nodiscard]] Extent power(double n) const {
    // n terms of a sum to the power: compositions, at most terms^n.
    const double choose =
        std::exp(std::lgamma(n + terms) - std::lgamma(n + 1) - std::lgamma(terms));
    return {terms <= 1 ? 1 : choose, degree * n, n * (bits + std::log2(terms))};
  }
  [[nodiscard]] bool fits() const {
    return terms <= kMaxTerms && degree <= kMaxDegree && bits <= kMaxBits;
  }
};

// A quotient that is never cancelled: cancelling needs greatest common divisors, whose cost nobody
// can tell beforehand.
struct Quotient {
  ex above = 1;
  ex below = 1;
  Extent above_extent;
  Extent below_extent;
};

struct Algebra {
  std::map<std::string, GiNaC::symbol> symbols;
};

class Converter {
 public:
  Converter(Algebra& algebra, const Expression& expression)
      : algebra_(algebra), nodes_(expression.nodes) {}

  Result<Quotient> run() {
    std::vector<Quotient> values;
    for (const auto& node : nodes_) {
      ASSIGN_OR_RETURN(Quotient value, convert(node, values));
      if (!value.above_extent.fits() || !value.below_extent.fits()) {
        return error(Code::ResourceExhausted, "multiplied out the formula would be too large");
      }
      values.push_back(std::move(value));
    }
    return std::move(values.back());
  }

  [[nodiscard]] bool exact() const { return exact_; }
  [[nodiscard]] bool has_symbols() const { return has_symbols_; }

 private:
  Result<Quotient> convert(const Expression::Node& node, const std::vector<Quotient>& values) {
    const auto operand = [&values](int i) -> const Quotient& {
      return values[static_cast<size_t>(i)];
    };
    switch (node.kind) {
      case Kind::Number:
        return number(node.text);
      case Kind::Symbol:
        return symbol(node.text);
      case Kind::Negate: {
        Quotient out = operand(node.left);
        out.above = -out.above;
        return out;
      }
      case Kind::Add: {
        const Quotient& a = operand(node.left);
        const Quotient& b = operand(node.right);
        if (a.below.is_equal(b.below)) {
          return Quotient{a.above + b.above, a.below, a.above_extent + b.above_extent,
                          a.below_extent};
        }
        return Quotient{a.above * b.below + b.above * a.below, a.below * b.below,
                        a.above_extent * b.below_extent + b.above_extent * a.below_extent,
                        a.below_extent * b.below_extent};
      }
      case Kind::Multiply:
        return product(operand(node.left), operand(node.right));
      case Kind::Divide:
        return product(operand(node.left), inverse(operand(node.right)));
      case Kind::Power:
        return power(operand(node.left), operand(node.right));
      case Kind::Call:
        return call(node.text, operand(node.left));
    }
    return error(Code::Internal, "a formula of an unknown kind");
  }

  static Quotient inverse(const Quotient& a) {
    return {a.below, a.above, a.below_extent, a.above_extent};
  }
  static Quotient product(const Quotient& a, const Quotient& b) {
    return {a.above * b.above, a.below * b.below, a.above_extent * b.above_extent,
            a.below_extent * b.below_extent};
  }

  static Quotient number(const std::string& text) {
    const size_t dot = text.find('.');
    const std::string digits =
        dot == std::string::npos ? text : text.substr(0, dot) + text.substr(dot + 1);
    const size_t decimals = dot == std::string::npos ? 0 : text.size() - dot - 1;
    const double bits = 3.33 * static_cast<double>(digits.size()) + 1;
    return {numeric(strip_zeros(digits).c_str()),
            GiNaC::pow(numeric(10), numeric(static_cast<long>(decimals))),
            {1, 0, bits},
            {1, 0, 3.33 * static_cast<double>(decimals) + 1}};
  }
  // GiNaC's reader takes a leading zero for an octal number.
  static std::string strip_zeros(const std::string& digits) {
    const size_t first = digits.find_first_not_of('0');
    return first == std::string::npos ? "0" : digits.substr(first);
  }

  Quotient symbol(const std::string& name) {
    if (name == "pi" || name == "e" || name == "i") {
      exact_ = false;
      return {name == "pi"  ? ex(GiNaC::Pi)
              : name == "e" ? GiNaC::exp(ex(1))
                            : ex(GiNaC::I),
              1,
              {1, 1, 1},
              {}};
    }
    has_symbols_ = true;
    const auto found = algebra_.symbols.try_emplace(name, name).first;
    return {found->second, 1, {1, 1, 1}, {}};
  }

  Result<Quotient> power(const Quotient& base, const Quotient& exponent) {
    const ex n = exponent.above / exponent.below;
    if (GiNaC::is_a<numeric>(n)) {
      const numeric value = ex_to<numeric>(n);
      if (!value.is_real() || GiNaC::abs(value) > numeric(static_cast<long>(kMaxExponent))) {
        return error(Code::ResourceExhausted, "an exponent beyond {}", kMaxExponent);
      }
      if (value.is_integer()) return integer_power(base, value.to_long());
    }
    exact_ = false;
    Quotient out;
    out.above = GiNaC::pow(base.above / base.below, n);
    out.above_extent = opaque(base, exponent);
    return out;
  }

  static Quotient integer_power(Quotient base, long n) {
    if (n < 0) base = inverse(base);
    const auto times = static_cast<double>(n < 0 ? -n : n);
    Quotient out;
    out.above_extent = base.above_extent.power(times);
    out.below_extent = base.below_extent.power(times);
    // The power of a number is computed at once: only when it fits.
    if (!out.above_extent.fits() || !out.below_extent.fits()) return out;
    out.above = GiNaC::pow(base.above, numeric(n < 0 ? -n : n));
    out.below = GiNaC::pow(base.below, numeric(n < 0 ? -n : n));
    return out;
  }

  // What stands under a root or in a function is one unknown of the polynomial; its numbers stay.
  static Extent opaque(const Quotient& a, const Quotient& b) {
    return {1, 1,
            a.above_extent.bits + a.below_extent.bits + b.above_extent.bits + b.below_extent.bits};
  }

  Result<Quotient> call(const std::string& name, const Quotient& argument) {
    exact_ = false;
    Quotient out;
    out.above_extent = opaque(argument, {});
    const ex x = argument.above / argument.below;
    if (name == "sqrt") {
      out.above = GiNaC::sqrt(x);
    } else if (name == "sin") {
      out.above = GiNaC::sin(x);
    } else if (name == "cos") {
      out.above = GiNaC::cos(x);
    } else if (name == "tan") {
      out.above = GiNaC::tan(x);
    } else if (name == "asin") {
      out.above = GiNaC::asin(x);
    } else if (name == "acos") {
      out.above = GiNaC::acos(x);
    } else if (name == "atan") {
      out.above = GiNaC::atan(x);
    } else if (name == "sinh") {
      out.above = GiNaC::sinh(x);
    } else if (name == "cosh") {
      out.above = GiNaC::cosh(x);
    } else if (name == "tanh") {
      out.above = GiNaC::tanh(x);
    } else if (name == "exp") {
      out.above = GiNaC::exp(x);
    } else if (name == "ln" || name == "log") {
      out.above = GiNaC::log(x);
    } else if (name == "abs") {
      out.above = GiNaC::abs(x);
    } else {
      return invalid_argument("unknown function '{}'", name);
    }
    return out;
  }

  Algebra& algebra_;
  const std::vector<Expression::Node>& nodes_;
  bool exact_ = true;  // only + - * / and whole powers
  bool has_symbols_ = false;
};

bool has_decimals(const Expression& expression) {
  for (const auto& node : expression.nodes) {
    if (node.kind == Kind::Number && node.text.find('.') != std::string::npos) return true;
  }
  return false;
}

// The value with every symbol set to a number of its own at point `point`; nothing when it has
// none.
std::optional<numeric> value_at(const Algebra& algebra, const Quotient& q, int point) {
  GiNaC::lst values;
  int place = 0;
  for (const auto& [name, symbol] : algebra.symbols) {
    // Irregular and positive, so that roots and logarithms are real and nothing cancels by chance.
    const double v =
        0.3 + std::fmod(0.6180339887498949 * (1 + ++place * 5 + point * 17), 1.0) * 1.9;
    values.append(symbol == numeric(v).evalf());
  }
  try {
    const ex value = (q.above.subs(values) / q.below.subs(values)).evalf();
    if (!GiNaC::is_a<numeric>(value)) return std::nullopt;
    return ex_to<numeric>(value);
  } catch (const std::exception&) {
    return std::nullopt;  // a pole, or too large for a number
  }
}

bool close(const numeric& a, const numeric& b, const numeric& tolerance) {
  const numeric size = std::max(GiNaC::abs(a), GiNaC::abs(b),
                                [](const numeric& x, const numeric& y) { return x < y; });
  return GiNaC::abs(a - b) <= tolerance * size;
}

Result<bool> compare(Algebra& algebra, const Expression& a, const Expression& b) {
  algebra.symbols.clear();
  GiNaC::Digits = kDigits;
  Converter left(algebra, a);
  Converter right(algebra, b);
  ASSIGN_OR_RETURN(const Quotient x, left.run());
  ASSIGN_OR_RETURN(const Quotient y, right.run());
  if (!(x.above_extent * y.below_extent).fits() || !(y.above_extent * x.below_extent).fits()) {
    return error(Code::ResourceExhausted, "multiplied out the formulas would be too large");
  }
  if (x.below.expand().is_zero() || y.below.expand().is_zero()) {
    return invalid_argument("division by zero");
  }
  if ((x.above * y.below - y.above * x.below).expand().is_zero()) return true;
  const bool constant = !left.has_symbols() && !right.has_symbols();
  const bool rounded = constant && (has_decimals(a) || has_decimals(b));
  if (left.exact() && right.exact() && !rounded) return false;
  const numeric tolerance = rounded ? numeric(kTolerance) : GiNaC::pow(numeric(10), numeric(-30));
  int agreed = 0;
  for (int point = 0; point < (constant ? 1 : 4); ++point) {
    const auto u = value_at(algebra, x, point);
    const auto v = value_at(algebra, y, point);
    if (u.has_value() != v.has_value()) return false;
    if (!u) continue;
    if (!close(*u, *v, tolerance)) return false;
    ++agreed;
  }
  return agreed > 0;
}

}  // namespace

Result<bool> same_value(const Expression& a, const Expression& b) {
  // Constructed on first use and never destroyed before GiNaC's own statics.
  static Exclusive<Algebra> algebra;
  return algebra.use([&](Algebra& it) -> Result<bool> {
    try {
      return compare(it, a, b);
    } catch (const std::exception& problem) {
      return invalid_argument("{}", problem.what());
    }
  });
}

}  // namespace sluice
