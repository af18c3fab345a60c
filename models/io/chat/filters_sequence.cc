// The filters over sequences that need no test and no other filter.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/unicode.h"

#include <algorithm>

namespace sluice::jinja {

namespace {

Value first(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "first", {"seq"}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::Iterator)) {
    Iterator& it = args[0].iterator();
    if (it.next < it.items.size()) return it.items[it.next++];
    return rt.undefined("No first item, sequence was empty.");
  }
  std::vector<Value> items;
  if (!iterate(rt, args[0], items)) return Value::failed();
  return items.empty() ? rt.undefined("No first item, sequence was empty.") : items.front();
}

bool reversible(Runtime& rt, const Value& value) {
  if (!value.is(Kind::Iterator)) return true;
  rt.fail("'generator' object is not reversible");
  return false;
}

Value last(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "last", {"seq"}, 1);
  std::vector<Value> items;
  if (!args.ok() || !reversible(rt, args[0]) || !iterate(rt, args[0], items))
    return Value::failed();
  return items.empty() ? rt.undefined("No last item, sequence was empty.") : items.back();
}

Value list(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "list", {"value"}, 1);
  std::vector<Value> items;
  return args.ok() && iterate(rt, args[0], items) ? rt.list(std::move(items)) : Value::failed();
}

Value reverse(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "reverse", {"value"}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::String)) {
    const Value index = rt.slice(Value::none(), Value::none(), Value::integer(-1));
    return index.is(Kind::Failed) ? index : item(rt, args[0], index);
  }
  const bool generator = args[0].is(Kind::Iterator) || args[0].is(Kind::Undefined);
  std::vector<Value> items;
  if (!iterate(rt, args[0], items)) return Value::failed();
  std::reverse(items.begin(), items.end());
  return generator ? rt.list(std::move(items)) : rt.iterator(std::move(items));
}

// What a sort or search compares: the attribute (or the item), strings in lower case unless
// `case_sensitive`.
bool key_of(Runtime& rt, const Value& item, const Value& attribute, bool case_sensitive,
            Value& key) {
  key =
      attribute.is(Kind::Missing) || attribute.is(Kind::None) ? item : follow(rt, item, attribute);
  if (key.is(Kind::String) && !case_sensitive) {
    if (!rt.step_bytes(key.text().size())) return false;
    key = rt.str(to_lower(key.text()));
  }
  return !key.is(Kind::Failed);
}

// As key_of, for "a,b": a tuple of the attributes.
bool sort_key(Runtime& rt, const Value& item, const Value& attribute, bool case_sensitive,
              Value& key) {
  if (!attribute.is(Kind::String) || attribute.text().find(',') == std::string_view::npos) {
    return key_of(rt, item, attribute, case_sensitive, key);
  }
  std::vector<Value> parts;
  std::string_view rest = attribute.text();
  while (true) {
    const size_t comma = rest.find(',');
    const Value name = rt.str_view(rest.substr(0, comma));
    Value part;
    if (name.is(Kind::Failed) || !key_of(rt, item, name, case_sensitive, part)) return false;
    parts.push_back(part);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  key = rt.tuple(std::move(parts));
  return !key.is(Kind::Failed);
}

Value sorted(Runtime& rt, const std::vector<Value>& items, const std::vector<Value>& keys,
             bool reverse) {
  std::vector<size_t> order;
  if (!sorted_order(rt, keys, reverse, order)) return Value::failed();
  std::vector<Value> out;
  out.reserve(items.size());
  for (const size_t i : order) out.push_back(items[i]);
  return rt.list(std::move(out));
}

Value sort(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "sort", {"value", "reverse", "case_sensitive", "attribute"}, 1);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  std::vector<Value> keys(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!sort_key(rt, items[i], args[3], args.flag(2, false), keys[i])) return Value::failed();
  }
  return sorted(rt, items, keys, args.flag(1, false));
}

Value dictsort(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "dictsort", {"value", "case_sensitive", "by", "reverse"}, 1);
  std::string_view by = "key";
  if (!args.ok() || !args.text(2, by)) return Value::failed();
  if (by != "key" && by != "value")
    return rt.fail("You can only sort by either \"key\" or \"value\"");
  if (args[0].is(Kind::Undefined)) return rt.fail_undefined(args[0]);
  if (!args[0].is(Kind::Dict)) return rt.fail("dictsort(): a dict is needed");
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [name, value] : args[0].dict().entries()) {
    Value key;
    if (!key_of(rt, by == "key" ? name : value, Value(), args.flag(1, false), key))
      return Value::failed();
    keys.push_back(key);
    items.push_back(rt.tuple({name, value}));
    if (rt.failed()) return Value::failed();
  }
  return sorted(rt, items, keys, args.flag(3, false));
}

Value unique(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "unique", {"value", "case_sensitive", "attribute"}, 1);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  std::vector<Value> out;
  Dict seen;
  for (const Value& item : items) {
    Value key;
    if (!key_of(rt, item, args[2], args.flag(1, false), key)) return Value::failed();
    if (!Dict::hash(key))
      return rt.fail(fmt::format("unhashable type: '{}'", type_name(key.kind())));
    if (seen.find(key) != nullptr) continue;
    if (!rt.charge(96)) return Value::failed();
    seen.set(key, Value::none());
    out.push_back(item);
  }
  return rt.iterator(std::move(out));
}

Value extreme(Runtime& rt, const CallArgs& call, std::string_view name, Op better) {
  const BoundArgs args(rt, call, name, {"value", "case_sensitive", "attribute"}, 1);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  if (items.empty()) return rt.undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key;
    bool wins = i == 0;
    if (!key_of(rt, items[i], args[2], args.flag(1, false), key)) return Value::failed();
    if (i > 0 && !ordered(rt, better, key, best_key, wins)) return Value::failed();
    if (!wins) continue;
    best = i;
    best_key = key;
  }
  return items[best];
}

Value sum(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "sum", {"iterable", "attribute", "start"}, 1);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items)) return Value::failed();
  Value total = args.given(2) ? args[2] : Value::integer(0);
  if (total.is(Kind::String)) return rt.fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& entry : items) {
    const Value part = args.has(1) ? follow(rt, entry, args[1]) : entry;
    if (!part.is(Kind::Failed)) total = arithmetic(rt, Op::Add, total, part);
    if (part.is(Kind::Failed) || total.is(Kind::Failed)) return Value::failed();
  }
  return total;
}

Value items_of(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "items", {"value"}, 1);
  if (!args.ok()) return Value::failed();
  if (args[0].is(Kind::Undefined)) return rt.iterator({});
  if (!args[0].is(Kind::Dict)) return rt.fail("Can only get item pairs from a mapping.");
  std::vector<Value> items;
  const Value view = rt.view(args[0].dict(), View::What::Items);
  if (view.is(Kind::Failed) || !iterate(rt, view, items)) return Value::failed();
  return rt.iterator(std::move(items));
}

Value batch(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "batch", {"value", "linecount", "fill_with"}, 2);
  int64_t count = 0;
  std::vector<Value> items;
  if (!args.ok() || !args.integer(1, count) || !iterate(rt, args[0], items)) return Value::failed();
  if (count < 1) return rt.fail("batch(): at least one item a line is needed");
  std::vector<Value> lines;
  for (size_t at = 0; at < items.size();) {
    const size_t size = std::min(static_cast<size_t>(count), items.size() - at);
    std::vector<Value> line(items.begin() + static_cast<ptrdiff_t>(at),
                            items.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
    if (args.has(2) && static_cast<int64_t>(size) < count) {
      const int64_t missing = count - static_cast<int64_t>(size);
      if (!rt.step(missing) || !rt.charge_items(missing, sizeof(Value))) return Value::failed();
      line.resize(static_cast<size_t>(count), args[2]);
    }
    lines.push_back(rt.list(std::move(line)));
    if (rt.failed()) return Value::failed();
  }
  return rt.iterator(std::move(lines));
}

Value slices(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "slice", {"value", "slices", "fill_with"}, 2);
  int64_t count = 0;
  std::vector<Value> items;
  if (!args.ok() || !args.integer(1, count) || !iterate(rt, args[0], items)) return Value::failed();
  if (count == 0) return rt.fail("slice(): division by zero");
  std::vector<Value> out;
  const auto length = static_cast<int64_t>(items.size());
  size_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool extra = i < length % count;
    const auto size = static_cast<size_t>(length / count + (extra ? 1 : 0));
    std::vector<Value> part(items.begin() + static_cast<ptrdiff_t>(at),
                            items.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
    if (args.has(2) && !extra) part.push_back(args[2]);
    out.push_back(rt.list(std::move(part)));
    if (rt.failed()) return Value::failed();
  }
  return rt.iterator(std::move(out));
}

}  // namespace

std::span<const Function> sequence_filters() {
  static const Function kFilters[] = {
      {"first", first},
      {"last", last},
      {"list", list},
      {"reverse", reverse},
      {"sort", sort},
      {"dictsort", dictsort},
      {"unique", unique},
      {"min", [](Runtime& rt, CallArgs& c) { return extreme(rt, c, "min", Op::Less); }},
      {"max", [](Runtime& rt, CallArgs& c) { return extreme(rt, c, "max", Op::Greater); }},
      {"sum", sum},
      {"items", items_of},
      {"batch", batch},
      {"slice", slices},
  };
  return kFilters;
}

}  // namespace sluice::jinja
