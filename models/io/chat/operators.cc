#include "models/io/chat/operators.h"

#include <cmath>

namespace sluice::jinja {

namespace {

std::string_view symbol(Op op) {
  static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<size_t>(op)];
}

Value unsupported(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (a.is(Kind::Undefined)) return rt.fail_undefined(a);
  if (b.is(Kind::Undefined)) return rt.fail_undefined(b);
  return rt.fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                             type_name(a.kind()), type_name(b.kind())));
}

Value overflow(Runtime& rt) { return rt.fail("an integer needs more than 64 bits"); }

Value power(Runtime& rt, int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow(rt);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow(rt);
  }
  return Value::integer(result);
}

Value integers(Runtime& rt, Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  const bool divides = op == Op::Divide || op == Op::FloorDivide || op == Op::Modulo;
  if (divides && b == 0) return rt.fail("division by zero");
  switch (op) {
    case Op::Add:
      return __builtin_add_overflow(a, b, &out) ? overflow(rt) : Value::integer(out);
    case Op::Subtract:
      return __builtin_sub_overflow(a, b, &out) ? overflow(rt) : Value::integer(out);
    case Op::Multiply:
      return __builtin_mul_overflow(a, b, &out) ? overflow(rt) : Value::integer(out);
    case Op::Divide:
      return Value::real(static_cast<double>(a) / static_cast<double>(b));
    case Op::FloorDivide:
    case Op::Modulo: {
      if (b == -1) {  // INT64_MIN / -1 traps
        if (op == Op::Modulo) return Value::integer(0);
        return a == INT64_MIN ? overflow(rt) : Value::integer(-a);
      }
      const int64_t rest = a % b;
      const bool below = rest != 0 && (rest < 0) != (b < 0);
      if (op == Op::Modulo) return Value::integer(below ? rest + b : rest);
      return Value::integer(a / b - (below ? 1 : 0));
    }
    default:
      break;
  }
  if (b >= 0) return power(rt, a, b);
  if (a == 0) return rt.fail("0.0 cannot be raised to a negative power");
  return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
}

Value reals(Runtime& rt, Op op, double a, double b) {
  const bool divides = op == Op::Divide || op == Op::FloorDivide || op == Op::Modulo;
  if (divides && b == 0) return rt.fail("float division by zero");
  switch (op) {
    case Op::Add:
      return Value::real(a + b);
    case Op::Subtract:
      return Value::real(a - b);
    case Op::Multiply:
      return Value::real(a * b);
    case Op::Divide:
      return Value::real(a / b);
    case Op::FloorDivide:
    case Op::Modulo: {
      double rest = std::fmod(a, b);
      double quotient = (a - rest) / b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
      }
      if (op == Op::Modulo) return Value::real(rest == 0 ? std::copysign(0.0, b) : rest);
      if (quotient == 0) return Value::real(std::copysign(0.0, a / b));
      const double whole = std::floor(quotient);
      return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
    }
    default:
      break;
  }
  if (a == 0 && b < 0) return rt.fail("0.0 cannot be raised to a negative power");
  const double result = std::pow(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
    return rt.fail("a power that is a complex number");
  }
  if (std::isinf(result) && !std::isinf(a) && !std::isinf(b))
    return rt.fail("a power is too large");
  return Value::real(result);
}

Value repeat(Runtime& rt, const Value& sequence, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (sequence.is(Kind::String)) {
    const std::string_view text = sequence.text();
    size_t bytes = 0;
    if (__builtin_mul_overflow(text.size(), static_cast<size_t>(times), &bytes) ||
        bytes > rt.limits().max_output_bytes) {
      return rt.exhausted(
          fmt::format("a text of more than {} bytes", rt.limits().max_output_bytes));
    }
    if (!rt.step_bytes(bytes)) return Value::failed();
    std::string out;
    out.reserve(bytes);
    while (out.size() < bytes) out += text;
    return rt.str(std::move(out));
  }
  const std::vector<Value>& items = sequence.items();
  int64_t count = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(items.size()), times, &count)) count = INT64_MAX;
  if (!rt.charge_items(count, sizeof(Value)) || !rt.step(count)) return Value::failed();
  std::vector<Value> out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < times && !items.empty(); ++i) {
    out.insert(out.end(), items.begin(), items.end());
  }
  return sequence.is(Kind::List) ? rt.list(std::move(out)) : rt.tuple(std::move(out));
}

Value joined(Runtime& rt, const Value& a, const Value& b) {
  if (a.is(Kind::String)) {
    std::string out;
    out.reserve(a.text().size() + b.text().size());
    out.append(a.text()).append(b.text());
    return rt.str(std::move(out));
  }
  const auto count = static_cast<int64_t>(a.items().size() + b.items().size());
  if (!rt.charge_items(count, sizeof(Value)) || !rt.step(count)) return Value::failed();
  std::vector<Value> out = a.items();
  out.insert(out.end(), b.items().begin(), b.items().end());
  return a.is(Kind::List) ? rt.list(std::move(out)) : rt.tuple(std::move(out));
}

}  // namespace

Value arithmetic(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_integral() && b.is_integral() ? integers(rt, op, a.integer(), b.integer())
                                              : reals(rt, op, a.as_double(), b.as_double());
  }
  const bool undefined = a.is(Kind::Undefined) || b.is(Kind::Undefined);
  const auto repeats = [](const Value& v) { return v.is(Kind::String) || v.is_sequence(); };
  if (op == Op::Add && a.kind() == b.kind() && repeats(a)) return joined(rt, a, b);
  if (op == Op::Multiply && repeats(a) && b.is_integral()) return repeat(rt, a, b.integer());
  if (op == Op::Multiply && a.is_integral() && repeats(b)) return repeat(rt, b, a.integer());
  if (op == Op::Modulo && a.is(Kind::String) && !undefined) return percent_format(rt, a.text(), b);
  return unsupported(rt, op, a, b);
}

Value negative(Runtime& rt, const Value& a) {
  if (a.is(Kind::Float)) return Value::real(-a.real());
  if (a.is(Kind::Undefined)) return rt.fail_undefined(a);
  if (!a.is_integral()) {
    return rt.fail(fmt::format("bad operand type for unary -: '{}'", type_name(a.kind())));
  }
  return a.integer() == INT64_MIN ? overflow(rt) : Value::integer(-a.integer());
}

Value positive(Runtime& rt, const Value& a) {
  if (a.is(Kind::Float)) return a;
  if (a.is(Kind::Undefined)) return rt.fail_undefined(a);
  if (a.is_integral()) return Value::integer(a.integer());
  return rt.fail(fmt::format("bad operand type for unary +: '{}'", type_name(a.kind())));
}

}  // namespace sluice::jinja
