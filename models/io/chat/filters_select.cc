// The filters that apply another filter or a test to every item.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library.h"
#include "models/io/chat/library_parts.h"

namespace sluice::jinja {

namespace {

// Calls for each item nest: "map('map', ..)". The template's depth does not count those.
constexpr int kMaxNested = 20;
class Nesting {
 public:
  explicit Nesting(Runtime& rt) : rt_(rt), ok_(++rt.nested_filters <= kMaxNested) {
    if (!ok_) rt.exhausted("filters within filters, too deep");
  }
  ~Nesting() { --rt_.nested_filters; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  Runtime& rt_;
  bool ok_;
};

// `name` applied to `item` with what follows `skip` arguments.
Value apply(Runtime& rt, const Function& function, const Value& item, const CallArgs& call,
            size_t skip) {
  CallArgs inner;
  inner.args.push_back(item);
  inner.args.insert(inner.args.end(), call.args.begin() + static_cast<ptrdiff_t>(skip),
                    call.args.end());
  inner.keywords = call.keywords;
  return rt.step() ? function.body(rt, inner) : Value::failed();
}

const Function* named(Runtime& rt, const CallArgs& call, size_t at, bool filter) {
  if (!call.args[at].is(Kind::String)) {
    rt.fail("the name of a filter or test must be a string");
    return nullptr;
  }
  const std::string_view name = call.args[at].text();
  const Function* const function = filter ? find_filter(name) : find_test(name);
  if (function == nullptr) {
    rt.fail(fmt::format("there is no {} '{}'", filter ? "filter" : "test", name));
  }
  return function;
}

Value map_attribute(Runtime& rt, const CallArgs& call, std::vector<Value> items) {
  const BoundArgs args(rt, call, "map", {"value", "attribute", "default"}, 2);
  if (!args.ok()) return Value::failed();
  for (Value& item : items) {
    // The default stands in at every step of the path, as in Jinja.
    if (args.has(2) && args[1].is(Kind::String)) {
      std::string_view rest = args[1].text();
      while (!item.is(Kind::Failed)) {
        const size_t dot = rest.find('.');
        const Value part = rt.str_view(rest.substr(0, dot));
        item = part.is(Kind::Failed) ? part : follow(rt, item, part);
        if (item.is(Kind::Undefined)) item = args[2];
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
      }
    } else {
      item = follow(rt, item, args[1]);
      if (args.has(2) && item.is(Kind::Undefined)) item = args[2];
    }
    if (item.is(Kind::Failed) || !rt.step()) return Value::failed();
  }
  return rt.iterator(std::move(items));
}

Value map(Runtime& rt, CallArgs& call) {
  const Nesting nesting(rt);
  if (!nesting.ok()) return Value::failed();
  if (call.args.empty()) return rt.fail("map(): needs a sequence");
  std::vector<Value> items;
  if (truthy(call.args[0]) && !iterate(rt, call.args[0], items)) return Value::failed();
  if (items.empty()) return rt.iterator({});
  if (call.args.size() == 1) {
    for (const auto& [key, value] : call.keywords) {
      if (key == "attribute") return map_attribute(rt, call, std::move(items));
    }
    return rt.fail("map requires a filter argument");
  }
  const Function* const function = named(rt, call, 1, true);
  if (function == nullptr) return Value::failed();
  for (Value& item : items) {
    item = apply(rt, *function, item, call, 2);
    if (item.is(Kind::Failed)) return item;
  }
  return rt.iterator(std::move(items));
}

Value select(Runtime& rt, CallArgs& call, bool keeps, bool by_attribute) {
  const Nesting nesting(rt);
  if (!nesting.ok()) return Value::failed();
  if (call.args.empty()) return rt.fail("select needs a sequence");
  std::vector<Value> items;
  if (truthy(call.args[0]) && !iterate(rt, call.args[0], items)) return Value::failed();
  if (items.empty()) return rt.iterator({});
  const size_t name_at = by_attribute ? 2 : 1;
  if (call.args.size() < name_at) return rt.fail("Missing parameter for attribute name");
  const bool tests = call.args.size() > name_at;
  const Function* const function = tests ? named(rt, call, name_at, false) : nullptr;
  if (tests && function == nullptr) return Value::failed();
  std::vector<Value> kept;
  for (const Value& item : items) {
    Value subject = by_attribute ? follow(rt, item, call.args[1]) : item;
    if (tests && !subject.is(Kind::Failed)) {
      subject = apply(rt, *function, subject, call, name_at + 1);
    }
    if (subject.is(Kind::Failed) || !rt.step()) return Value::failed();
    if (truthy(subject) == keeps) kept.push_back(item);
  }
  return rt.iterator(std::move(kept));
}

Value attr(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "attr", {"obj", "name"}, 2);
  if (!args.ok()) return Value::failed();
  if (!args[1].is(Kind::String)) return rt.fail("attr(): the name must be a string");
  if (args[0].is(Kind::Undefined)) return rt.fail_undefined(args[0]);
  // Only what is an attribute, never a dict's item.
  if (args[0].is(Kind::Dict) && find_method(Kind::Dict, args[1].text()) == nullptr) {
    return Value::undefined(args[1].str(), Kind::Dict);
  }
  return attribute(rt, args[0], *args[1].str());
}

}  // namespace

std::span<const Function> select_filters() {
  static const Function kFilters[] = {
      {"map", map},
      {"select", [](Runtime& rt, CallArgs& c) { return select(rt, c, true, false); }},
      {"reject", [](Runtime& rt, CallArgs& c) { return select(rt, c, false, false); }},
      {"selectattr", [](Runtime& rt, CallArgs& c) { return select(rt, c, true, true); }},
      {"rejectattr", [](Runtime& rt, CallArgs& c) { return select(rt, c, false, true); }},
      {"attr", attr},
  };
  return kFilters;
}

}  // namespace sluice::jinja
