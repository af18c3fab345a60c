// "%s" % values and "{}".format(values).
#include "models/io/chat/access.h"
#include "models/io/chat/format_spec.h"
#include "models/io/chat/literals.h"
#include "models/io/chat/operators.h"
#include "models/io/chat/text.h"

#include <optional>

namespace sluice::jinja {

namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& rt, std::string_view format, const Value& values)
      : rt_(rt), rest_(format), values_(values) {}

  Value run() {
    while (true) {
      const size_t mark = rest_.find('%');
      if (!copy(rest_.substr(0, mark))) return Value::failed();
      if (mark == std::string_view::npos) break;
      rest_.remove_prefix(mark + 1);
      if (!conversion()) return Value::failed();
    }
    const size_t given = values_.is(Kind::Tuple) ? values_.items().size() : 1;
    if (used_ < given && !named_ && !values_.is(Kind::Dict) && !values_.is(Kind::List)) {
      return rt_.fail("not all arguments converted during string formatting");
    }
    return rt_.str(std::move(out_));
  }

 private:
  bool fail(std::string_view message) {
    rt_.fail(message);
    return false;
  }
  bool copy(std::string_view text) {
    if (!rt_.step_bytes(text.size())) return false;
    if (out_.size() + text.size() > rt_.limits().max_output_bytes) {
      rt_.exhausted("a formatted text that is too long");
      return false;
    }
    out_ += text;
    return true;
  }
  char take() {
    if (rest_.empty()) return '\0';
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  bool next_value(Value& value) {
    if (values_.is(Kind::Tuple)) {
      if (used_ >= values_.items().size()) return fail("not enough arguments for format string");
      value = values_.items()[used_++];
      return true;
    }
    if (used_++ > 0) return fail("not enough arguments for format string");
    value = values_;
    return true;
  }

  bool named_value(Value& value) {
    const size_t end = rest_.find(')');
    if (end == std::string_view::npos) return fail("incomplete format key");
    if (!values_.is(Kind::Dict)) return fail("format requires a mapping");
    const Value* const found = values_.dict().find(rest_.substr(1, end - 1));
    if (found == nullptr) return fail(fmt::format("no value named '{}'", rest_.substr(1, end - 1)));
    value = *found;
    named_ = true;
    rest_.remove_prefix(end + 1);
    return true;
  }

  // A width or precision: digits, or '*' for the next value.
  bool number(int64_t& out) {
    if (rest_.starts_with('*')) {
      rest_.remove_prefix(1);
      Value value;
      if (!next_value(value)) return false;
      if (!value.is_integral()) return fail("* wants int");
      out = value.integer();
      return true;
    }
    size_t digits = rest_.find_first_not_of("0123456789");
    if (digits == std::string_view::npos) digits = rest_.size();
    bool overflow = false;
    if (digits > 0 && !parse_int(rest_.substr(0, digits), 10, out, overflow)) {
      return fail("a width that is too large");
    }
    rest_.remove_prefix(digits);
    return true;
  }

  bool conversion() {
    if (rest_.starts_with('%')) {
      rest_.remove_prefix(1);
      out_ += '%';
      return true;
    }
    Value value;
    if (rest_.starts_with('(') && !named_value(value)) return false;
    FormatSpec spec;
    spec.align = '>';
    bool zero = false;
    for (; !rest_.empty() && std::string_view("#0- +").find(rest_[0]) != std::string_view::npos;) {
      const char flag = take();
      if (flag == '-') spec.align = '<';
      if (flag == '#') spec.alternate = true;
      if (flag == '0') zero = true;
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
    }
    if (!number(spec.width)) return false;
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = spec.width == INT64_MIN ? INT64_MAX : -spec.width;
    }
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      spec.precision = 0;
      if (!number(spec.precision)) return false;
    }
    while (rest_.starts_with('l') || rest_.starts_with('h') || rest_.starts_with('L')) take();
    const char type = take();
    if (type == '\0') return fail("incomplete format");
    if (value.is(Kind::Missing) && !next_value(value)) return false;
    if (zero && spec.align == '>') {
      spec.align = '=';
      spec.fill = "0";
    }
    return converted(type, value, spec);
  }

  bool converted(char type, const Value& value, FormatSpec spec) {
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        std::string text;
        if (!(type == 's' ? append_str(rt_, value, text) : append_repr(rt_, value, text)))
          return false;
        const Value shown = rt_.str(std::move(text));
        if (spec.align == '=') spec.align = '>';
        spec.fill = " ";
        return !shown.is(Kind::Failed) && append_formatted(rt_, shown, spec, out_);
      }
      case 'c':
        if (value.is(Kind::String)) {
          spec.type = '\0';
          return length_of(value) == 1 ? append_formatted(rt_, value, spec, out_)
                                       : fail("%c requires int or char");
        }
        break;
      case 'd':
      case 'i':
      case 'u':
        type = 'd';
        break;
      case 'x':
      case 'X':
      case 'o':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        break;
      default:
        return fail(fmt::format("unsupported format character '{}'", type));
    }
    if (!value.is_number()) return fail(fmt::format("%{} format: a real number is required", type));
    Value number = value;
    if (type == 'd' && value.is(Kind::Float)) {
      if (!(value.real() > -9e18 && value.real() < 9e18)) return fail("%d format: too large");
      number = Value::integer(static_cast<int64_t>(value.real()));
    }
    if (type == 'd' || type == 'x' || type == 'X' || type == 'o' || type == 'c') {
      if (!number.is_integral())
        return fail(fmt::format("%{} format: an integer is required", type));
      if (spec.precision > 0 && type != 'c')
        return fail("a precision of integers is not supported");
      spec.precision = -1;
      number = Value::integer(number.integer());
    }
    spec.type = type;
    return append_formatted(rt_, number, spec, out_);
  }

  Runtime& rt_;
  std::string_view rest_;
  const Value& values_;
  std::string out_;
  size_t used_ = 0;
  bool named_ = false;
};

class BraceFormatter {
 public:
  BraceFormatter(Runtime& rt, const CallArgs& args) : rt_(rt), args_(args) {}

  bool run(std::string_view format, int depth, std::string& out) {
    if (depth > 1) return fail("Max string recursion exceeded");
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        const size_t end = std::min(format.find_first_of("{}", at), format.size());
        if (!rt_.step_bytes(end - at) || out.size() > rt_.limits().max_output_bytes) {
          return fail("a formatted text that is too long");
        }
        out += format.substr(at, end - at);
        at = end;
      } else if (at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        return fail("Single '}' encountered in format string");
      } else {
        size_t end = at + 1;
        int open = 1;
        for (; end < format.size() && open > 0; ++end) {
          open += format[end] == '{' ? 1 : format[end] == '}' ? -1 : 0;
        }
        if (open > 0) return fail("expected '}' before end of string");
        if (!rt_.step() || !field(format.substr(at + 1, end - at - 2), depth, out)) return false;
        at = end;
      }
    }
    return true;
  }

 private:
  bool fail(std::string_view message) {
    rt_.fail(message);
    return false;
  }

  bool field(std::string_view text, int depth, std::string& out) {
    const size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon);
    char conversion = '\0';
    if (const size_t mark = name.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != name.size()) return fail("a conversion is one character");
      conversion = name[mark + 1];
      name = name.substr(0, mark);
    }
    Value value;
    if (!lookup(name, value)) return false;
    std::string spec_text;
    FormatSpec spec;
    if (colon != std::string_view::npos && !run(text.substr(colon + 1), depth + 1, spec_text))
      return false;
    if (!parse_format_spec(spec_text, spec)) return fail("Invalid format specifier");
    if (conversion != '\0') {
      std::string shown;
      if (conversion != 's' && conversion != 'r') return fail("Unknown conversion specifier");
      if (!(conversion == 's' ? append_str(rt_, value, shown) : append_repr(rt_, value, shown)))
        return false;
      value = rt_.str(std::move(shown));
      if (value.is(Kind::Failed)) return false;
    }
    const bool plain = value.is_number() || value.is(Kind::String);
    if (!plain && !spec_text.empty()) return fail("unsupported format string");
    return append_formatted(rt_, value, spec, out);
  }

  bool lookup(std::string_view name, Value& value) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, first_end);
    std::string_view rest = name.substr(first_end);
    int64_t index = 0;
    bool overflow = false;
    const bool automatic = first.empty();
    if (automatic) {
      index = automatic_++;
    } else if (!parse_int(first, 10, index, overflow)) {
      for (const auto& [key, given] : args_.keywords) {
        if (key == first) {
          value = given;
          return follow_path(rest, value);
        }
      }
      return fail(fmt::format("no value named '{}'", first));
    }
    numbered_ = numbered_ || !automatic;
    if (numbered_ && automatic_ > 0) return fail("numbers of fields and automatic ones together");
    const size_t at = static_cast<size_t>(index) + 1;  // args[0] is the format itself
    if (index < 0 || at >= args_.args.size()) return fail("Replacement index out of range");
    value = args_.args[at];
    return follow_path(rest, value);
  }

  bool follow_path(std::string_view rest, Value& value) {
    while (!rest.empty()) {
      const bool bracket = rest[0] == '[';
      const size_t end =
          bracket ? rest.find(']') : std::min(rest.find_first_of(".[", 1), rest.size());
      if (end == std::string_view::npos || end < 2) return fail("Empty attribute in format string");
      const Value key = rt_.str(std::string(rest.substr(1, end - 1)));
      if (key.is(Kind::Failed)) return false;
      int64_t index = 0;
      bool overflow = false;
      if (!bracket) {
        value = attribute(rt_, value, *key.str());
      } else if (parse_int(key.text(), 10, index, overflow)) {
        value = item(rt_, value, Value::integer(index));
      } else {
        value = item(rt_, value, key);
      }
      if (value.is(Kind::Failed)) return false;
      rest.remove_prefix(end + (bracket ? 1 : 0));
    }
    return true;
  }

  Runtime& rt_;
  const CallArgs& args_;
  int64_t automatic_ = 0;
  bool numbered_ = false;
};

}  // namespace

Value percent_format(Runtime& rt, std::string_view format, const Value& values) {
  return PercentFormatter(rt, format, values).run();
}

Value brace_format(Runtime& rt, std::string_view format, const CallArgs& args) {
  std::string out;
  return BraceFormatter(rt, args).run(format, 0, out) ? rt.str(std::move(out)) : Value::failed();
}

}  // namespace sluice::jinja
