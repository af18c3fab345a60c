// The methods of lists, tuples, ranges, dicts and `loop`.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library_parts.h"

namespace sluice::jinja {

namespace {

Value list_index(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "index", {"", ""}, 2);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  for (size_t i = 0; i < items.size(); ++i) {
    bool same = false;
    if (!equal(rt, items[i], args[1], same)) return Value::failed();
    if (same) return Value::integer(static_cast<int64_t>(i));
  }
  return rt.fail("index(): the value is not in the list");
}

Value list_count(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "count", {"", ""}, 2);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  int64_t found = 0;
  for (const Value& item : items) {
    bool same = false;
    if (!equal(rt, item, args[1], same)) return Value::failed();
    found += same ? 1 : 0;
  }
  return Value::integer(found);
}

// Values do not change, so a copy is the value.
Value copy(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "copy", {""}, 1);
  return args.ok() ? args[0] : Value::failed();
}

Value dict_get(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "get", {"", "", ""}, 2);
  if (!args.ok()) return Value::failed();
  if (!Dict::hash(args[1])) {
    if (!args[1].is(Kind::Undefined)) {
      return rt.fail(fmt::format("unhashable type: '{}'", type_name(args[1].kind())));
    }
  } else if (const Value* const value = args[0].dict().find(args[1])) {
    return *value;
  }
  return args.given(2) ? args[2] : Value::none();
}

Value dict_view(Runtime& rt, const CallArgs& call, std::string_view name, View::What what) {
  const BoundArgs args(rt, call, name, {""}, 1);
  return args.ok() ? rt.view(args[0].dict(), what) : Value::failed();
}

Value cycle(Runtime& rt, CallArgs& call) {
  if (call.args.size() < 2) return rt.fail("no items for cycling given");
  const auto count = static_cast<int64_t>(call.args.size() - 1);
  return call.args[static_cast<size_t>(1 + call.args[0].loop().index0 % count)];
}

Value changed(Runtime& rt, CallArgs& call) {
  Loop& loop = call.args[0].loop();
  const Value now = rt.tuple({call.args.begin() + 1, call.args.end()});
  if (now.is(Kind::Failed)) return now;
  bool same = false;
  if (!loop.changed.is(Kind::Missing) && !equal(rt, loop.changed, now, same))
    return Value::failed();
  loop.changed = now;
  return Value::boolean(!same);
}

}  // namespace

std::span<const Function> list_methods() {
  static const Function kMethods[] = {{"index", list_index}, {"count", list_count}, {"copy", copy}};
  return kMethods;
}

std::span<const Function> dict_methods() {
  static const Function kMethods[] = {
      {"get", dict_get},
      {"copy", copy},
      {"keys", [](Runtime& rt, CallArgs& c) { return dict_view(rt, c, "keys", View::What::Keys); }},
      {"values",
       [](Runtime& rt, CallArgs& c) { return dict_view(rt, c, "values", View::What::Values); }},
      {"items",
       [](Runtime& rt, CallArgs& c) { return dict_view(rt, c, "items", View::What::Items); }},
  };
  return kMethods;
}

std::span<const Function> loop_methods() {
  static const Function kMethods[] = {{"cycle", cycle}, {"changed", changed}};
  return kMethods;
}

}  // namespace sluice::jinja
