// json.dumps, as transformers' tojson filter calls it.
#include "models/io/chat/text.h"
#include "models/io/chat/unicode.h"

#include <algorithm>
#include <cmath>

namespace sluice::jinja {

namespace {

constexpr int kMaxJsonDepth = 200;

class Writer {
 public:
  Writer(Runtime& rt, const JsonStyle& style, std::string& out)
      : rt_(rt), style_(style), out_(out) {}

  bool write(const Value& value, int depth) {
    if (depth > kMaxJsonDepth) {
      rt_.fail("a value is nested too deep for tojson");
      return false;
    }
    if (!rt_.step() || !bounded()) return false;
    switch (value.kind()) {
      case Kind::String:
        return quoted(value.text());
      case Kind::List:
      case Kind::Tuple:
        return list(value.items(), depth);
      case Kind::Dict:
        return dict(value.dict(), depth);
      case Kind::None:
      case Kind::Bool:
      case Kind::Int:
      case Kind::Float:
        out_ += scalar(value);
        return true;
      default:
        rt_.fail(
            fmt::format("Object of type {} is not JSON serializable", type_name(value.kind())));
        return false;
    }
  }

 private:
  bool bounded() {
    if (out_.size() <= rt_.limits().max_output_bytes) return true;
    rt_.exhausted(fmt::format("a text of more than {} bytes", rt_.limits().max_output_bytes));
    return false;
  }

  static std::string scalar(const Value& value) {
    std::string text;
    switch (value.kind()) {
      case Kind::Bool:
        return value.integer() != 0 ? "true" : "false";
      case Kind::Int:
        return fmt::format("{}", value.integer());
      case Kind::Float:
        if (std::isnan(value.real())) return "NaN";
        if (std::isinf(value.real())) return value.real() < 0 ? "-Infinity" : "Infinity";
        append_float(value.real(), text);
        return text;
      default:
        return "null";
    }
  }

  bool quoted(std::string_view text) {
    if (!rt_.step_bytes(text.size())) return false;
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      at += c.size;
      static constexpr std::string_view kFrom = "\"\\\n\r\t\f\b";
      static constexpr std::string_view kTo = "\"\\nrtfb";
      const size_t known =
          c.value < 0x80 ? kFrom.find(static_cast<char>(c.value)) : std::string_view::npos;
      if (known != std::string_view::npos) {
        out_ += '\\';
        out_ += kTo[known];
      } else if (c.value < 0x20 || (style_.ascii && c.value > 0x7E && c.value <= 0xFFFF)) {
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}", uint32_t{c.value});
      } else if (style_.ascii && c.value > 0xFFFF && c.value <= 0x10FFFF) {
        const uint32_t rest = c.value - 0x10000;
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10),
                       0xDC00 + (rest & 0x3FF));
      } else {
        append_utf8(c.value, out_);
      }
    }
    out_ += '"';
    return true;
  }

  void line(int depth) {
    if (!style_.pretty) return;
    out_ += '\n';
    for (int i = 0; i < depth; ++i) out_ += style_.indent;
  }
  bool indents_fit(int depth) {
    return rt_.step_bytes(style_.indent.size() * static_cast<size_t>(depth));
  }

  bool list(const std::vector<Value>& items, int depth) {
    if (items.empty()) {
      out_ += "[]";
      return true;
    }
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      if (!indents_fit(depth)) return false;
      line(depth + 1);
      if (!write(items[i], depth + 1)) return false;
    }
    line(depth);
    out_ += ']';
    return true;
  }

  bool key_text(const Value& key, std::string& text) {
    if (key.is(Kind::String)) {
      text = key.text();
      return true;
    }
    if (!key.is_number() && !key.is(Kind::None)) {
      rt_.fail(
          fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key.kind())));
      return false;
    }
    text = scalar(key);
    return true;
  }

  bool dict(const Dict& dict, int depth) {
    if (dict.size() == 0) {
      out_ += "{}";
      return true;
    }
    std::vector<std::pair<std::string, Value>> entries;
    if (!rt_.step(static_cast<int64_t>(dict.size()))) return false;
    for (const auto& [key, value] : dict.entries()) {
      std::string text;
      if (!key_text(key, text)) return false;
      entries.emplace_back(std::move(text), value);
    }
    if (style_.sort_keys) {
      // The order of UTF-8 bytes is that of code points.
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    out_ += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      if (!indents_fit(depth)) return false;
      line(depth + 1);
      if (!quoted(entries[i].first)) return false;
      out_ += style_.key_separator;
      if (!write(entries[i].second, depth + 1)) return false;
    }
    line(depth);
    out_ += '}';
    return true;
  }

  Runtime& rt_;
  const JsonStyle& style_;
  std::string& out_;
};

}  // namespace

bool append_json(Runtime& rt, const Value& value, const JsonStyle& style, std::string& out) {
  return Writer(rt, style, out).write(value, 0);
}

}  // namespace sluice::jinja
