// The functions that every template finds: those of Jinja's sandbox and those transformers adds.
#include "models/io/chat/bound_args.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/text.h"

#include <ctime>

namespace sluice::jinja {

namespace {

constexpr int64_t kMaxRange = 100'000;  // Jinja's sandbox has the same bound
constexpr size_t kMaxDateFormat = 1000;

Value range(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "range", {"", "", ""}, 1);
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  if (!args.ok()) return Value::failed();
  const bool one = !args.given(1);
  if (!args.integer(0, one ? stop : start) || !args.integer(1, stop) || !args.integer(2, step)) {
    return Value::failed();
  }
  if (step == 0) return rt.fail("range() arg 3 must not be zero");
  int64_t span = 0;
  const bool empty = step > 0 ? stop <= start : stop >= start;
  if (!empty && (step > 0 ? __builtin_sub_overflow(stop, start, &span)
                          : __builtin_sub_overflow(start, stop, &span))) {
    span = INT64_MAX;
  }
  // The step's size, without negating INT64_MIN.
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t length = empty ? 0 : (static_cast<uint64_t>(span) - 1) / size + 1;
  if (length > static_cast<uint64_t>(kMaxRange)) {
    return rt.exhausted(fmt::format("a range of more than {} numbers", kMaxRange));
  }
  return rt.range(start, stop, step, static_cast<int64_t>(length));
}

// dict(mapping or pairs, **more) and namespace(..): the entries in order.
bool entries(Runtime& rt, const CallArgs& call, std::string_view name, Dict& out) {
  if (call.args.size() > 1) {
    rt.fail(fmt::format("{}() takes one positional argument", name));
    return false;
  }
  if (call.args.size() == 1) {
    if (!call.args[0].is(Kind::Dict)) {
      rt.fail(fmt::format("{}() takes a dict, not {}", name, type_name(call.args[0].kind())));
      return false;
    }
    const Dict& given = call.args[0].dict();
    if (!rt.step(static_cast<int64_t>(given.size())) ||
        !rt.charge_items(static_cast<int64_t>(given.size()), 96)) {
      return false;
    }
    out = given;
  }
  for (const auto& [key, value] : call.keywords) {
    const Value text = rt.str(std::string(key));
    if (text.is(Kind::Failed)) return false;
    out.set(text, value);
  }
  return true;
}

Value dict(Runtime& rt, CallArgs& call) {
  Dict out;
  return entries(rt, call, "dict", out) ? rt.dict(std::move(out)) : Value::failed();
}

Value space(Runtime& rt, CallArgs& call) {
  Dict out;
  if (!entries(rt, call, "namespace", out)) return Value::failed();
  for (const auto& [key, value] : out.entries()) {
    if (key.is(Kind::String) && key.text().starts_with('_')) {
      return rt.fail(fmt::format(
          "'{}' cannot be stored on a namespace: it begins with an underscore", key.text()));
    }
  }
  return rt.space(std::move(out));
}

Value raise_exception(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "raise_exception", {"message"}, 1);
  std::string_view message;
  if (!args.ok() || !args.as_text(0, message)) return Value::failed();
  return rt.fail(message);
}

Value strftime_now(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "strftime_now", {"format"}, 1);
  std::string_view given;
  if (!args.ok() || !args.text(0, given)) return Value::failed();
  // A width such as %999999d would make strftime fill that many blanks.
  bool wide = given.size() > kMaxDateFormat;
  int digits = 0;
  for (const char c : given) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    wide = wide || digits > 4;
  }
  if (wide) return rt.fail("strftime_now(): the format is too long");
  const std::string format(given.substr(0, given.find('\0')));
  const std::tm now = rt.now();
  std::string out(256 + 256 * format.size(), '\0');
  if (!rt.charge(out.size())) return Value::failed();
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &now));
  return rt.str(std::move(out));
}

}  // namespace

std::span<const Function> globals() {
  static const Function kFunctions[] = {{"range", range},
                                        {"dict", dict},
                                        {"namespace", space},
                                        {"raise_exception", raise_exception},
                                        {"strftime_now", strftime_now}};
  return kFunctions;
}

}  // namespace sluice::jinja
