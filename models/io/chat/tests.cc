// What may stand behind `is`.
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/text.h"
#include "models/io/chat/text_case.h"

namespace sluice::jinja {

namespace {

// A test of the kind of its subject.
template <class Holds>
Value kind_test(Runtime& rt, const CallArgs& call, Holds holds) {
  const BoundArgs args(rt, call, "test", {"value"}, 1);
  return args.ok() ? Value::boolean(holds(args[0])) : Value::failed();
}

template <Kind... kinds>
Value is_kind(Runtime& rt, CallArgs& call) {
  return kind_test(rt, call, [](const Value& v) { return (v.is(kinds) || ...); });
}

Value is_not_undefined(Runtime& rt, CallArgs& call) {
  return kind_test(rt, call, [](const Value& v) { return !v.is(Kind::Undefined); });
}

template <int64_t truth>
Value is_truth(Runtime& rt, CallArgs& call) {
  return kind_test(rt, call,
                   [](const Value& v) { return v.is(Kind::Bool) && v.integer() == truth; });
}

Value is_iterable(Runtime& rt, CallArgs& call) {
  return kind_test(rt, call, [](const Value& v) {
    switch (v.kind()) {
      case Kind::Undefined:
      case Kind::String:
      case Kind::List:
      case Kind::Tuple:
      case Kind::Dict:
      case Kind::Range:
      case Kind::View:
      case Kind::Iterator:
      case Kind::Loop:
        return true;
      default:
        return false;
    }
  });
}

Value is_divisible(Runtime& rt, const Value& value, const Value& by, int64_t rest) {
  const Value left = arithmetic(rt, Op::Modulo, value, by);
  if (left.is(Kind::Failed)) return left;
  bool same = false;
  if (!equal(rt, left, Value::integer(rest), same)) return Value::failed();
  return Value::boolean(same);
}

template <int64_t rest>
Value is_parity(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "test", {"value"}, 1);
  return args.ok() ? is_divisible(rt, args[0], Value::integer(2), rest) : Value::failed();
}

Value divisibleby(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "divisibleby", {"value", "num"}, 2);
  return args.ok() ? is_divisible(rt, args[0], args[1], 0) : Value::failed();
}

template <bool upper>
Value is_case(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "test", {"value"}, 1);
  std::string_view text;
  if (!args.ok() || !args.as_text(0, text) || !rt.step_bytes(text.size())) return Value::failed();
  return Value::boolean(is_cased(text, upper));
}

Value sameas(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "sameas", {"value", "other"}, 2);
  return args.ok() ? Value::boolean(args[0].same_as(args[1])) : Value::failed();
}

template <bool wanted>
Value is_equal(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "equalto", {"", ""}, 2);
  bool same = false;
  if (!args.ok() || !equal(rt, args[0], args[1], same)) return Value::failed();
  return Value::boolean(same == wanted);
}

template <Op op>
Value is_ordered(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "comparison", {"", ""}, 2);
  bool holds = false;
  if (!args.ok() || !ordered(rt, op, args[0], args[1], holds)) return Value::failed();
  return Value::boolean(holds);
}

Value is_in(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "in", {"value", "seq"}, 2);
  bool found = false;
  if (!args.ok() || !contains(rt, args[1], args[0], found)) return Value::failed();
  return Value::boolean(found);
}

Value is_known(Runtime& rt, const CallArgs& call, const Function* (*find)(std::string_view)) {
  const BoundArgs args(rt, call, "test", {"value"}, 1);
  if (!args.ok()) return Value::failed();
  return Value::boolean(args[0].is(Kind::String) && find(args[0].text()) != nullptr);
}

}  // namespace

std::span<const Function> tests() {
  static const Function kTests[] = {
      {"defined", is_not_undefined},
      {"undefined", is_kind<Kind::Undefined>},
      {"none", is_kind<Kind::None>},
      {"boolean", is_kind<Kind::Bool>},
      {"true", is_truth<1>},
      {"false", is_truth<0>},
      {"integer", is_kind<Kind::Int>},
      {"float", is_kind<Kind::Float>},
      {"number", is_kind<Kind::Bool, Kind::Int, Kind::Float>},
      {"string", is_kind<Kind::String>},
      {"mapping", is_kind<Kind::Dict>},
      {"sequence",
       is_kind<Kind::Undefined, Kind::String, Kind::List, Kind::Tuple, Kind::Dict, Kind::Range>},
      {"iterable", is_iterable},
      {"callable", is_kind<Kind::Function, Kind::Method, Kind::Macro, Kind::Loop, Kind::Undefined>},
      {"escaped", [](Runtime& rt,
                     CallArgs& c) { return kind_test(rt, c, [](const Value&) { return false; }); }},
      {"odd", is_parity<1>},
      {"even", is_parity<0>},
      {"divisibleby", divisibleby},
      {"lower", is_case<false>},
      {"upper", is_case<true>},
      {"sameas", sameas},
      {"in", is_in},
      {"filter", [](Runtime& rt, CallArgs& c) { return is_known(rt, c, find_filter); }},
      {"test", [](Runtime& rt, CallArgs& c) { return is_known(rt, c, find_test); }},
      {"==", is_equal<true>},
      {"eq", is_equal<true>},
      {"equalto", is_equal<true>},
      {"!=", is_equal<false>},
      {"ne", is_equal<false>},
      {">", is_ordered<Op::Greater>},
      {"gt", is_ordered<Op::Greater>},
      {"greaterthan", is_ordered<Op::Greater>},
      {">=", is_ordered<Op::GreaterEqual>},
      {"ge", is_ordered<Op::GreaterEqual>},
      {"<", is_ordered<Op::Less>},
      {"lt", is_ordered<Op::Less>},
      {"lessthan", is_ordered<Op::Less>},
      {"<=", is_ordered<Op::LessEqual>},
      {"le", is_ordered<Op::LessEqual>},
  };
  return kTests;
}

}  // namespace sluice::jinja
