// The filters over numbers, and those that take anything.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/literals.h"
#include "models/io/chat/operators.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sluice::jinja {

namespace {

Value absolute(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "abs", {"x"}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::Float)) return Value::real(std::fabs(args[0].real()));
  if (args[0].is_integral() && args[0].integer() >= 0) return Value::integer(args[0].integer());
  return negative(rt, args[0]);
}

// Python's int(float): towards zero. False when it is no 64-bit integer.
bool truncated(double value, int64_t& out) {
  if (!(value >= -9.2233720368547758e18 && value < 9.2233720368547758e18)) return false;
  out = static_cast<int64_t>(value);
  return true;
}

Value to_int(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "int", {"value", "default", "base"}, 1);
  int64_t base = 10;
  if (!args.ok() || !args.integer(2, base)) return Value::failed();
  const Value& value = args[0];
  const Value otherwise = args.given(1) ? args[1] : Value::integer(0);
  if (value.is(Kind::Undefined)) return rt.fail_undefined(value);
  if (value.is_integral()) return Value::integer(value.integer());
  int64_t out = 0;
  double real = value.is(Kind::Float) ? value.real() : 0;
  if (value.is(Kind::String)) {
    if (base != 0 && (base < 2 || base > 36)) return rt.fail("int(): base must be 2 to 36, or 0");
    bool overflow = false;
    if (parse_int(value.text(), static_cast<int>(base), out, overflow)) return Value::integer(out);
    if (overflow) return rt.fail("an integer needs more than 64 bits");
    if (!parse_float(value.text(), real)) return otherwise;
  } else if (!value.is(Kind::Float)) {
    return otherwise;
  }
  if (std::isnan(real) || std::isinf(real)) return otherwise;
  return truncated(real, out) ? Value::integer(out) : rt.fail("an integer needs more than 64 bits");
}

Value to_float(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "float", {"value", "default"}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::Undefined)) return rt.fail_undefined(args[0]);
  if (args[0].is_number()) return Value::real(args[0].as_double());
  double real = 0;
  if (args[0].is(Kind::String) && parse_float(args[0].text(), real)) return Value::real(real);
  return args.given(1) ? args[1] : Value::real(0);
}

// round(value, digits) as Python does it: exactly, halves to even.
double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < -300) return std::copysign(0.0, value);
  if (digits >= 0) {
    char buffer[800];
    std::snprintf(buffer, sizeof(buffer), "%.*f", static_cast<int>(digits), value);
    return std::strtod(buffer, nullptr);
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / unit) * unit;
}

Value round(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "round", {"value", "precision", "method"}, 1);
  int64_t digits = 0;
  std::string_view method = "common";
  if (!args.ok() || !args.integer(1, digits) || !args.text(2, method)) return Value::failed();
  if (args[0].is(Kind::Undefined)) return rt.fail_undefined(args[0]);
  if (!args[0].is_number()) {
    return rt.fail(fmt::format("round(): a number is needed, not {}", type_name(args[0].kind())));
  }
  if (method == "common") {
    if (args[0].is_integral() && digits >= 0) return Value::integer(args[0].integer());
    const double out = rounded(args[0].as_double(), digits);
    if (!args[0].is_integral()) return Value::real(out);
    int64_t whole = 0;
    return truncated(out, whole) ? Value::integer(whole)
                                 : rt.fail("an integer needs more than 64 bits");
  }
  if (method != "ceil" && method != "floor") return rt.fail("method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = args[0].as_double() * unit;
  if (!std::isfinite(scaled)) return rt.fail("cannot convert float infinity or NaN to integer");
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Value fall_back(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "default", {"value", "default_value", "boolean"}, 1);
  if (!args.ok()) return Value::failed();
  const bool replaces = args[0].is(Kind::Undefined) || (args.flag(2, false) && !truthy(args[0]));
  if (!replaces) return args[0];
  return args.given(1) ? args[1] : rt.str({});
}

Value length(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "length", {""}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::String) && !rt.step_bytes(args[0].text().size())) return Value::failed();
  const int64_t length = length_of(args[0]);
  if (length >= 0) return Value::integer(length);
  return rt.fail(fmt::format("object of type '{}' has no len()", type_name(args[0].kind())));
}

}  // namespace

std::span<const Function> number_filters() {
  static const Function kFilters[] = {
      {"abs", absolute},      {"int", to_int},  {"float", to_float}, {"round", round},
      {"default", fall_back}, {"d", fall_back}, {"length", length},  {"count", length},
  };
  return kFilters;
}

}  // namespace sluice::jinja
