// The methods of str that look for, cut and join text.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/compare.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/text.h"
#include "models/io/chat/text_ops.h"
#include "models/io/chat/unicode.h"

#include <algorithm>

namespace sluice::jinja {

namespace {

constexpr size_t kMaxStripChars = 1024;

Value strip(Runtime& rt, const CallArgs& call, std::string_view name, bool left, bool right) {
  BoundArgs args(rt, call, name, {"", ""}, 1);
  std::string_view chars;
  if (!args.ok() || (args.has(1) && !args.text(1, chars))) return Value::failed();
  if (chars.size() > kMaxStripChars) return rt.exhausted("too many characters to strip");
  const std::string_view text = args[0].text();
  const std::string_view out = stripped(text, args.has(1) ? &chars : nullptr, left, right);
  if (!rt.step_bytes(text.size() - out.size())) return Value::failed();
  return out.size() == text.size() ? args[0] : rt.str_view(out);
}

Value split_method(Runtime& rt, const CallArgs& call, std::string_view name, bool right) {
  BoundArgs args(rt, call, name, {"", "sep", "maxsplit"}, 1);
  std::string_view separator;
  int64_t limit = -1;
  if (!args.ok() || (args.has(1) && !args.text(1, separator)) || !args.integer(2, limit)) {
    return Value::failed();
  }
  if (args.has(1) && separator.empty()) return rt.fail("empty separator");
  const std::string_view* const given = args.has(1) ? &separator : nullptr;
  std::vector<Value> parts;
  const bool ok = right ? split_from_right(rt, args[0].text(), given, limit, parts)
                        : split(rt, args[0].text(), given, limit, parts);
  return ok ? rt.list(std::move(parts)) : Value::failed();
}

Value splitlines(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "splitlines", {"", "keepends"}, 1);
  std::vector<Value> lines;
  if (!args.ok() || !split_lines(rt, args[0].text(), args.flag(1, false), lines)) {
    return Value::failed();
  }
  return rt.list(std::move(lines));
}

// text[start:end] as the search methods take it; nothing when start lies behind the text.
struct Window {
  std::string_view text;
  int64_t start = 0;
  bool possible = true;
};
bool window(Runtime& rt, BoundArgs& args, Window& out) {
  out.text = args[0].text();
  if (!args.has(2) && !args.has(3)) return true;
  if (!rt.step_bytes(out.text.size())) return false;
  const int64_t length = code_points(out.text);
  int64_t start = 0;
  int64_t end = length;
  if ((args.has(2) && !args.integer(2, start)) || (args.has(3) && !args.integer(3, end)))
    return false;
  if (start < 0) start = std::max<int64_t>(start + length, 0);
  if (end < 0) end = std::max<int64_t>(end + length, 0);
  end = std::min(end, length);
  out.possible = start <= end;
  if (!out.possible) return true;
  out.start = start;
  const size_t from = byte_offset(out.text, start);
  out.text = out.text.substr(from, byte_offset(out.text.substr(from), end - start));
  return true;
}

Value affix(Runtime& rt, const CallArgs& call, std::string_view name, bool start) {
  BoundArgs args(rt, call, name, {"", "", "", ""}, 2);
  Window where;
  if (!args.ok() || !window(rt, args, where)) return Value::failed();
  const auto matches = [&](std::string_view part) {
    return where.possible && (start ? where.text.starts_with(part) : where.text.ends_with(part));
  };
  if (args[1].is(Kind::Tuple)) {
    if (!rt.step(static_cast<int64_t>(args[1].items().size()))) return Value::failed();
    for (const Value& part : args[1].items()) {
      if (!part.is(Kind::String))
        return rt.fail(fmt::format("{}(): a tuple of strings is needed", name));
      if (matches(part.text())) return Value::boolean(true);
    }
    return Value::boolean(false);
  }
  std::string_view part;
  if (!args.text(1, part)) return Value::failed();
  return rt.step_bytes(part.size()) ? Value::boolean(matches(part)) : Value::failed();
}

Value search(Runtime& rt, const CallArgs& call, std::string_view name, bool last, bool must) {
  BoundArgs args(rt, call, name, {"", "", "", ""}, 2);
  std::string_view needle;
  Window where;
  if (!args.ok() || !args.text(1, needle) || !window(rt, args, where)) return Value::failed();
  size_t at = std::string_view::npos;
  if (where.possible) {
    at =
        last ? find_last(rt, where.text, needle, where.text.size()) : find_text(where.text, needle);
    if (rt.failed() || !rt.step_bytes(where.text.size())) return Value::failed();
  }
  if (at != std::string_view::npos) {
    return Value::integer(where.start + code_points(where.text.substr(0, at)));
  }
  return must ? rt.fail("substring not found") : Value::integer(-1);
}

Value count(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "count", {"", "", "", ""}, 2);
  std::string_view needle;
  Window where;
  if (!args.ok() || !args.text(1, needle) || !window(rt, args, where)) return Value::failed();
  if (!where.possible) return Value::integer(0);
  if (!rt.step_bytes(where.text.size())) return Value::failed();
  if (needle.empty()) return Value::integer(code_points(where.text) + 1);
  int64_t found = 0;
  for (size_t at = 0; (at = find_text(where.text, needle, at)) != std::string_view::npos;
       at += needle.size()) {
    ++found;
    if (!rt.step_bytes(needle.size())) return Value::failed();
  }
  return Value::integer(found);
}

Value replace(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "replace", {"", "", "", "count"}, 3);
  std::string_view old;
  std::string_view with;
  int64_t limit = -1;
  if (!args.ok() || !args.text(1, old) || !args.text(2, with) || !args.integer(3, limit)) {
    return Value::failed();
  }
  return replaced(rt, args[0].text(), old, with, limit);
}

Value join(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "join", {"", ""}, 2);
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[1], items)) return Value::failed();
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::String)) {
      return rt.fail(fmt::format("sequence item {}: expected str instance, {} found", i,
                                 type_name(items[i].kind())));
    }
    if (i > 0 && !append_str(rt, args[0], out)) return Value::failed();
    if (!append_str(rt, items[i], out)) return Value::failed();
  }
  return rt.str(std::move(out));
}

Value partition(Runtime& rt, const CallArgs& call, std::string_view name, bool last) {
  BoundArgs args(rt, call, name, {"", ""}, 2);
  std::string_view separator;
  if (!args.ok() || !args.text(1, separator)) return Value::failed();
  if (separator.empty()) return rt.fail("empty separator");
  const std::string_view text = args[0].text();
  const size_t at = last ? find_last(rt, text, separator, text.size()) : find_text(text, separator);
  if (rt.failed() || !rt.step_bytes(text.size())) return Value::failed();
  const Value nothing = rt.str({});
  if (at == std::string_view::npos) {
    return last ? rt.tuple({nothing, nothing, args[0]}) : rt.tuple({args[0], nothing, nothing});
  }
  return rt.tuple(
      {rt.str_view(text.substr(0, at)), args[1], rt.str_view(text.substr(at + separator.size()))});
}

Value removed(Runtime& rt, const CallArgs& call, std::string_view name, bool prefix) {
  BoundArgs args(rt, call, name, {"", ""}, 2);
  std::string_view part;
  if (!args.ok() || !args.text(1, part)) return Value::failed();
  std::string_view text = args[0].text();
  if (part.empty() || !(prefix ? text.starts_with(part) : text.ends_with(part))) return args[0];
  return rt.str_view(prefix ? text.substr(part.size()) : text.substr(0, text.size() - part.size()));
}

Value format(Runtime& rt, CallArgs& call) { return brace_format(rt, call.args[0].text(), call); }

Value format_map(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "format_map", {"", ""}, 2);
  if (!args.ok()) return Value::failed();
  if (!args[1].is(Kind::Dict)) return rt.fail("format_map(): a dict is needed");
  CallArgs named;
  named.args.push_back(args[0]);
  for (const auto& [key, value] : args[1].dict().entries()) {
    if (!rt.step() || !rt.charge(sizeof(Value) * 2)) return Value::failed();
    if (key.is(Kind::String)) named.keywords.emplace_back(key.text(), value);
  }
  return brace_format(rt, args[0].text(), named);
}

}  // namespace

std::span<const Function> string_methods() {
  static const Function kMethods[] = {
      {"strip", [](Runtime& rt, CallArgs& c) { return strip(rt, c, "strip", true, true); }},
      {"lstrip", [](Runtime& rt, CallArgs& c) { return strip(rt, c, "lstrip", true, false); }},
      {"rstrip", [](Runtime& rt, CallArgs& c) { return strip(rt, c, "rstrip", false, true); }},
      {"split", [](Runtime& rt, CallArgs& c) { return split_method(rt, c, "split", false); }},
      {"rsplit", [](Runtime& rt, CallArgs& c) { return split_method(rt, c, "rsplit", true); }},
      {"splitlines", splitlines},
      {"startswith", [](Runtime& rt, CallArgs& c) { return affix(rt, c, "startswith", true); }},
      {"endswith", [](Runtime& rt, CallArgs& c) { return affix(rt, c, "endswith", false); }},
      {"find", [](Runtime& rt, CallArgs& c) { return search(rt, c, "find", false, false); }},
      {"rfind", [](Runtime& rt, CallArgs& c) { return search(rt, c, "rfind", true, false); }},
      {"index", [](Runtime& rt, CallArgs& c) { return search(rt, c, "index", false, true); }},
      {"rindex", [](Runtime& rt, CallArgs& c) { return search(rt, c, "rindex", true, true); }},
      {"count", count},
      {"replace", replace},
      {"join", join},
      {"partition", [](Runtime& rt, CallArgs& c) { return partition(rt, c, "partition", false); }},
      {"rpartition", [](Runtime& rt, CallArgs& c) { return partition(rt, c, "rpartition", true); }},
      {"removeprefix",
       [](Runtime& rt, CallArgs& c) { return removed(rt, c, "removeprefix", true); }},
      {"removesuffix",
       [](Runtime& rt, CallArgs& c) { return removed(rt, c, "removesuffix", false); }},
      {"format", format},
      {"format_map", format_map},
  };
  return kMethods;
}

}  // namespace sluice::jinja
