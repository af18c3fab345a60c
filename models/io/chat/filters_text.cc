// The filters that give text.
#include "models/io/chat/access.h"
#include "models/io/chat/bound_args.h"
#include "models/io/chat/library_parts.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/text.h"
#include "models/io/chat/text_case.h"
#include "models/io/chat/text_ops.h"
#include "models/io/chat/unicode.h"

namespace sluice::jinja {

namespace {

using Change = std::string (*)(std::string_view);

Value changed(Runtime& rt, const CallArgs& call, std::string_view name, Change change) {
  BoundArgs args(rt, call, name, {"s"}, 1);
  std::string_view text;
  if (!args.ok() || !args.as_text(0, text) || !rt.step_bytes(text.size())) return Value::failed();
  return rt.str(change(text));
}

// str(argument) as text that outlives the call.
bool lasting(Runtime& rt, const Value& value, Value& text) {
  text = value;
  if (!value.is(Kind::String)) {
    std::string out;
    if (!append_str(rt, value, out)) return false;
    text = rt.str(std::move(out));
  }
  return !text.is(Kind::Failed);
}

Value trim(Runtime& rt, CallArgs& call) {
  constexpr size_t kMaxStripChars = 1024;
  BoundArgs args(rt, call, "trim", {"value", "chars"}, 1);
  Value text;
  std::string_view chars;
  if (!args.ok() || !lasting(rt, args[0], text) || (args.has(1) && !args.text(1, chars))) {
    return Value::failed();
  }
  if (chars.size() > kMaxStripChars) return rt.exhausted("too many characters to strip");
  const std::string_view out = stripped(text.text(), args.has(1) ? &chars : nullptr, true, true);
  if (!rt.step_bytes(text.text().size() - out.size())) return Value::failed();
  return out.size() == text.text().size() ? text : rt.str_view(out);
}

Value string(Runtime& rt, CallArgs& call) {
  const BoundArgs args(rt, call, "string", {"value"}, 1);
  Value text;
  return args.ok() && lasting(rt, args[0], text) ? text : Value::failed();
}

Value escape(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "escape", {"value"}, 1);
  std::string_view text;
  if (!args.ok() || !args.as_text(0, text) || !rt.step_bytes(text.size())) return Value::failed();
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return rt.str(std::move(out));
}

Value replace(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "replace", {"s", "old", "new", "count"}, 3);
  std::string_view text;
  std::string_view old;
  std::string_view with;
  int64_t limit = -1;
  if (!args.ok() || !args.as_text(0, text) || !args.as_text(1, old) || !args.as_text(2, with) ||
      (args.has(3) && !args.integer(3, limit))) {
    return Value::failed();
  }
  return replaced(rt, text, old, with, limit);
}

Value indent(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "indent", {"s", "width", "first", "blank"}, 1);
  std::string_view text;
  if (!args.ok() || !args.text(0, text)) return Value::failed();
  std::string indention;
  if (args.given(1) && args[1].is(Kind::String)) {
    indention = args[1].text();
  } else {
    int64_t width = 4;
    if (!args.integer(1, width) || !pad(rt, " ", width, indention)) return Value::failed();
  }
  std::vector<Value> lines;
  const Value ended = rt.str(std::string(text) + '\n');
  if (ended.is(Kind::Failed) || !split_lines(rt, ended.text(), false, lines))
    return Value::failed();
  const bool blank = args.flag(3, false);
  std::string out = args.flag(2, false) ? indention : std::string();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].text().empty()) && !pad(rt, indention, 1, out)) {
      return Value::failed();
    }
    if (!append_str(rt, lines[i], out)) return Value::failed();
  }
  return rt.str(std::move(out));
}

Value center(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "center", {"value", "width"}, 1);
  std::string_view text;
  int64_t width = 80;
  if (!args.ok() || !args.as_text(0, text) || !args.integer(1, width)) return Value::failed();
  return centred(rt, text, width, " ", 0);
}

Value truncate(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "truncate", {"s", "length", "killwords", "end", "leeway"}, 1);
  std::string_view text;
  std::string_view end = "...";
  int64_t length = 255;
  int64_t leeway = 5;
  if (!args.ok() || !args.text(0, text) || !args.integer(1, length) || !args.text(3, end) ||
      (args.has(4) && !args.integer(4, leeway)) || !rt.step_bytes(text.size())) {
    return Value::failed();
  }
  const int64_t room = length - code_points(end);
  if (room < 0 || leeway < 0) return rt.fail("truncate(): the length has no room for the end");
  if (code_points(text) - leeway <= length) return rt.str(std::string(text));
  std::string_view kept = text.substr(0, byte_offset(text, room));
  if (!args.flag(2, false)) {
    const size_t space = kept.rfind(' ');
    if (space != std::string_view::npos) kept = kept.substr(0, space);
  }
  return rt.str(std::string(kept) + std::string(end));
}

Value wordcount(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "wordcount", {"s"}, 1);
  std::string_view text;
  if (!args.ok() || !args.as_text(0, text) || !rt.step_bytes(text.size())) return Value::failed();
  int64_t words = 0;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const bool word = is_alpha(c.value) || is_numeric(c.value) || c.value == '_';
    words += word && !within ? 1 : 0;
    within = word;
    at += c.size;
  }
  return Value::integer(words);
}

Value format(Runtime& rt, CallArgs& call) {
  if (call.args.empty()) return rt.fail("format(): needs at least 1 arguments");
  if (call.args.size() > 1 && !call.keywords.empty()) {
    return rt.fail("format(): positional and keyword arguments at the same time");
  }
  Value text;
  if (!lasting(rt, call.args[0], text)) return text;
  if (call.keywords.empty()) {
    const Value values = rt.tuple({call.args.begin() + 1, call.args.end()});
    return values.is(Kind::Failed) ? values : percent_format(rt, text.text(), values);
  }
  Dict named;
  for (const auto& [key, value] : call.keywords) {
    const Value name = rt.str(std::string(key));
    if (name.is(Kind::Failed)) return name;
    named.set(name, value);
  }
  const Value values = rt.dict(std::move(named));
  return values.is(Kind::Failed) ? values : percent_format(rt, text.text(), values);
}

Value urlencode(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "urlencode", {"value"}, 1);
  std::string_view text;
  if (!args.ok() || !args.text(0, text) || !rt.step_bytes(text.size())) return Value::failed();
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || std::string_view("_.-~/").find(c) != std::string_view::npos) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return rt.str(std::move(out));
}

Value join(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "join", {"value", "d", "attribute"}, 1);
  std::string_view separator;
  std::vector<Value> items;
  if (!args.ok() || !iterate(rt, args[0], items) || !args.as_text(1, separator)) {
    return Value::failed();
  }
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (args.has(2)) item = follow(rt, item, args[2]);
    if (item.is(Kind::Failed) || (i > 0 && !pad(rt, separator, 1, out))) return Value::failed();
    if (!append_str(rt, item, out)) return Value::failed();
  }
  return rt.str(std::move(out));
}

Value tojson(Runtime& rt, CallArgs& call) {
  BoundArgs args(rt, call, "tojson", {"value", "ensure_ascii", "indent", "separators", "sort_keys"},
                 1);
  if (!args.ok()) return Value::failed();
  JsonStyle style;
  style.ascii = args.flag(1, false);
  style.sort_keys = args.flag(4, false);
  style.pretty = args.has(2);
  if (style.pretty) {
    style.item_separator = ",";
    int64_t width = 0;
    if (args[2].is(Kind::String)) {
      style.indent = args[2].text();
    } else if (!args.integer(2, width) || !pad(rt, " ", width, style.indent)) {
      return Value::failed();
    }
    if (style.indent.size() > 100) return rt.exhausted("tojson(): an indent of more than 100");
  }
  if (args.has(3)) {
    std::vector<Value> pair;
    if (!iterate(rt, args[3], pair)) return Value::failed();
    if (pair.size() != 2 || !pair[0].is(Kind::String) || !pair[1].is(Kind::String)) {
      return rt.fail("tojson(): separators are two strings");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
    if (style.item_separator.size() + style.key_separator.size() > 100) {
      return rt.exhausted("tojson(): separators of more than 100 bytes");
    }
  }
  std::string out;
  return append_json(rt, args[0], style, out) ? rt.str(std::move(out)) : Value::failed();
}

}  // namespace

std::span<const Function> text_filters() {
  static const Function kFilters[] = {
      {"upper", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "upper", to_upper); }},
      {"lower", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "lower", to_lower); }},
      {"title", [](Runtime& rt, CallArgs& c) { return changed(rt, c, "title", title_words); }},
      {"capitalize",
       [](Runtime& rt, CallArgs& c) { return changed(rt, c, "capitalize", capitalized); }},
      {"trim", trim},
      {"string", string},
      {"safe", string},
      {"e", escape},
      {"escape", escape},
      {"forceescape", escape},
      {"replace", replace},
      {"indent", indent},
      {"center", center},
      {"truncate", truncate},
      {"wordcount", wordcount},
      {"format", format},
      {"urlencode", urlencode},
      {"join", join},
      {"tojson", tojson},
  };
  return kFilters;
}

}  // namespace sluice::jinja
