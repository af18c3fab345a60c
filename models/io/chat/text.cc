#include "models/io/chat/text.h"

#include "models/io/chat/ast.h"
#include "models/io/chat/scope.h"
#include "models/io/chat/unicode.h"

#include <charconv>
#include <cmath>

namespace sluice::jinja {

namespace {

constexpr int kMaxValueDepth = 200;

class Printer {
 public:
  Printer(Runtime& rt, std::string& out) : rt_(rt), out_(out) {}

  bool repr(const Value& value, int depth) {
    if (depth > kMaxValueDepth) {
      rt_.fail("a value is nested too deep to be printed");
      return false;
    }
    if (!rt_.step() || !bounded()) return false;
    switch (value.kind()) {
      case Kind::None:
        out_ += "None";
        break;
      case Kind::Undefined:
        out_ += "Undefined";
        break;
      case Kind::Bool:
        out_ += value.integer() != 0 ? "True" : "False";
        break;
      case Kind::Int:
        fmt::format_to(std::back_inserter(out_), "{}", value.integer());
        break;
      case Kind::Float:
        append_float(value.real(), out_);
        break;
      case Kind::String:
        if (!rt_.step_bytes(value.text().size())) return false;
        append_quoted(value.text(), out_);
        break;
      case Kind::List:
        return items(value.items(), '[', ']', depth);
      case Kind::Tuple:
        return tuple(value.items(), depth);
      case Kind::Dict:
        return dict(value.dict(), depth);
      case Kind::Namespace:
        out_ += "<Namespace ";
        if (!dict(value.space(), depth)) return false;
        out_ += '>';
        break;
      case Kind::Range:
        range(value.range());
        break;
      case Kind::View:
        return view(value.view(), depth);
      case Kind::Loop:
        fmt::format_to(std::back_inserter(out_), "<LoopContext {}/{}>", value.loop().index0 + 1,
                       value.loop().items.size());
        break;
      case Kind::Macro:
        out_ += "<Macro ";
        append_quoted(value.macro().signature->name, out_);
        out_ += '>';
        break;
      case Kind::Iterator:
        out_ += "<generator object>";
        break;
      case Kind::Function:
        fmt::format_to(std::back_inserter(out_), "<function {}>", value.function().name);
        break;
      case Kind::Method:
        fmt::format_to(std::back_inserter(out_), "<built-in method {}>",
                       value.method().function->name);
        break;
      default:
        out_ += "<object>";
    }
    return bounded();
  }

 private:
  bool bounded() {
    if (out_.size() <= rt_.limits().max_output_bytes) return true;
    rt_.exhausted(fmt::format("a text of more than {} bytes", rt_.limits().max_output_bytes));
    return false;
  }

  bool items(const std::vector<Value>& values, char open, char close, int depth) {
    out_ += open;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (!repr(values[i], depth + 1)) return false;
    }
    out_ += close;
    return true;
  }
  bool tuple(const std::vector<Value>& values, int depth) {
    if (!items(values, '(', ')', depth)) return false;
    if (values.size() == 1) out_.insert(out_.size() - 1, 1, ',');
    return true;
  }
  bool dict(const Dict& dict, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : dict.entries()) {
      if (!first) out_ += ", ";
      first = false;
      if (!repr(key, depth + 1)) return false;
      out_ += ": ";
      if (!repr(value, depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }
  void range(const Range& range) {
    fmt::format_to(std::back_inserter(out_), "range({}, {}", range.start, range.stop);
    if (range.step != 1) fmt::format_to(std::back_inserter(out_), ", {}", range.step);
    out_ += ')';
  }
  bool view(const View& view, int depth) {
    static constexpr const char* kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
    out_ += kNames[static_cast<int>(view.what)];
    bool first = true;
    for (const auto& [key, value] : view.dict->entries()) {
      if (!first) out_ += ", ";
      first = false;
      const bool pair = view.what == View::What::Items;
      if (pair) out_ += '(';
      if (view.what != View::What::Values && !repr(key, depth + 1)) return false;
      if (pair) out_ += ", ";
      if (view.what != View::What::Keys && !repr(value, depth + 1)) return false;
      if (pair) out_ += ')';
    }
    out_ += "])";
    return true;
  }

  Runtime& rt_;
  std::string& out_;
};

}  // namespace

bool append_repr(Runtime& rt, const Value& value, std::string& out) {
  return Printer(rt, out).repr(value, 0);
}

bool append_str(Runtime& rt, const Value& value, std::string& out) {
  if (value.is(Kind::String)) {
    if (!rt.step_bytes(value.text().size())) return false;
    if (out.size() + value.text().size() > rt.limits().max_output_bytes) {
      rt.exhausted(fmt::format("a text of more than {} bytes", rt.limits().max_output_bytes));
      return false;
    }
    out += value.text();
    return true;
  }
  return value.is(Kind::Undefined) || append_repr(rt, value, out);
}

bool text_of(Runtime& rt, const Value& value, std::string& storage, std::string_view& text) {
  if (value.is(Kind::String)) {
    text = value.text();
    return true;
  }
  if (!append_str(rt, value, storage)) return false;
  text = storage;
  return true;
}

void append_float(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  int exponent = 0;
  const size_t digits_at = mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent);
  std::string digits(1, text[0]);
  if (mark > 2) digits += text.substr(2, mark - 2);
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits, 1);
    fmt::format_to(std::back_inserter(out), "e{}{:02}", exponent < 0 ? '-' : '+',
                   std::abs(exponent));
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
  } else if (count <= exponent + 1) {
    out.append(digits).append(static_cast<size_t>(exponent + 1 - count), '0').append(".0");
  } else {
    const auto whole = static_cast<size_t>(exponent + 1);
    out.append(digits, 0, whole).append(1, '.').append(digits, whole);
  }
}

void append_quoted(std::string_view text, std::string& out) {
  const bool single = text.find('\'') != std::string_view::npos;
  const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    if (c.value == static_cast<unsigned char>(quote) || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_printable(c.value) || c.value > 0x10FFFF) {
      append_utf8(c.value, out);
    } else if (c.value < 0x100) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", uint32_t{c.value});
    } else if (c.value < 0x10000) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", uint32_t{c.value});
    } else {
      fmt::format_to(std::back_inserter(out), "\\U{:08x}", uint32_t{c.value});
    }
  }
  out += quote;
}

}  // namespace sluice::jinja
