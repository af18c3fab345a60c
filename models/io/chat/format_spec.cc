#include "models/io/chat/format_spec.h"

#include "models/io/chat/text.h"
#include "models/io/chat/text_ops.h"
#include "models/io/chat/unicode.h"

#include <cmath>
#include <cstdio>

namespace sluice::jinja {

namespace {

constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxPrecision = 100;

bool aligns(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Digits at the start of `text`, removed from it; -1 when they are too many.
int64_t take_number(std::string_view& text) {
  int64_t value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = value * 10 + (text[0] - '0');
    if (value > kMaxWidth) return -1;
    text.remove_prefix(1);
  }
  return value;
}

std::string in_base(uint64_t value, int base, bool upper) {
  std::string digits;
  do {
    digits.insert(
        digits.begin(),
        (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % static_cast<uint64_t>(base)]);
    value /= static_cast<uint64_t>(base);
  } while (value > 0);
  return digits;
}

std::string real_digits(double value, const FormatSpec& spec) {
  const char type = spec.type == '%' ? 'f' : spec.type;
  if (spec.type == '\0' && spec.precision < 0) {
    std::string text;
    append_float(value, text);
    return text;
  }
  const char pattern[] = {'%', '.', '*', type == '\0' ? 'g' : type, '\0'};
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof(buffer), pattern, precision, value);
  std::string text(buffer, static_cast<size_t>(std::min<int>(size, sizeof(buffer) - 1)));
  if (spec.type == '\0' && text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

void group(std::string& digits) {
  size_t whole = digits.find_first_not_of("0123456789");
  if (whole == std::string::npos) whole = digits.size();
  for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, 1, ',');
}

bool place(Runtime& rt, const std::string& sign, const std::string& body, char align,
           const FormatSpec& spec, std::string& out) {
  const int64_t missing = spec.width - code_points(sign) - code_points(body);
  const int64_t left = align == '<' || align == '=' ? 0 : align == '^' ? missing / 2 : missing;
  if (!pad(rt, spec.fill, left, out)) return false;
  out += sign;
  if (align == '=') {
    if (!pad(rt, spec.fill, missing, out)) return false;
    out += body;
    return true;
  }
  out += body;
  return pad(rt, spec.fill, missing - left, out);
}

bool append_number(Runtime& rt, const Value& value, const FormatSpec& spec, std::string& out) {
  const char type = spec.type;
  const bool whole =
      value.is_integral() &&
      std::string_view("dxXobcn").find(type == '\0' ? 'd' : type) != std::string_view::npos;
  std::string body;
  bool negative = false;
  if (whole) {
    if (spec.precision >= 0) {
      rt.fail("Precision not allowed in integer format specifier");
      return false;
    }
    const int64_t number = value.integer();
    negative = number < 0;
    const uint64_t size =
        negative ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    if (type == 'c') {
      if (number < 0 || number > 0x10FFFF) {
        rt.fail("%c arg not in range(0x110000)");
        return false;
      }
      append_utf8(static_cast<char32_t>(number), body);
      negative = false;
    } else {
      const int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
      body = in_base(size, base, type == 'X');
    }
  } else if (type == '\0' || std::string_view("fFeEgG%").find(type) != std::string_view::npos) {
    double number = value.as_double();
    if (type == '%') number *= 100;
    negative = std::signbit(number) && !std::isnan(number);
    body = real_digits(std::fabs(number), spec);
    if (type == '%') body += '%';
  } else {
    rt.fail(fmt::format("Unknown format code '{}' for object of type '{}'", type,
                        type_name(value.kind())));
    return false;
  }
  if (spec.grouped) group(body);
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.alternate && whole && (type == 'x' || type == 'X' || type == 'o' || type == 'b')) {
    sign.append(1, '0').append(1, type);
  }
  return place(rt, sign, body, spec.align == '\0' ? '>' : spec.align, spec, out);
}

}  // namespace

bool parse_format_spec(std::string_view text, FormatSpec& spec) {
  if (!text.empty()) {
    const size_t first = code_point_at(text, 0).size;
    if (text.size() > first && aligns(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      text.remove_prefix(first + 1);
    } else if (aligns(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  if (const char sign = take("+- "); sign != '\0') spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = take_number(text);
  spec.grouped = take(",") != '\0';
  if (take(".") != '\0') {
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    spec.precision = take_number(text);
    if (spec.precision < 0) return false;
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  return spec.width >= 0 && text.empty();
}

bool append_formatted(Runtime& rt, const Value& value, const FormatSpec& spec, std::string& out) {
  const bool number = value.is(Kind::Int) || value.is(Kind::Float) ||
                      (value.is(Kind::Bool) && spec.type != '\0' && spec.type != 's');
  if (number) {
    if (spec.precision > kMaxPrecision) {
      rt.exhausted(fmt::format("a precision of more than {}", kMaxPrecision));
      return false;
    }
    return append_number(rt, value, spec, out);
  }
  if (spec.type != '\0' && spec.type != 's') {
    rt.fail(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type,
                        type_name(value.kind())));
    return false;
  }
  std::string storage;
  std::string_view text;
  if (!text_of(rt, value, storage, text)) return false;
  if (spec.precision >= 0) text = text.substr(0, byte_offset(text, spec.precision));
  const char align = spec.align == '\0' || spec.align == '=' ? '<' : spec.align;
  return place(rt, {}, std::string(text), align, spec, out);
}

}  // namespace sluice::jinja
