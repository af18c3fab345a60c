#include "models/io/chat/literals.h"

#include "models/io/chat/unicode.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace sluice::jinja {

namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Digits of `base` from `at`, '_' allowed before each but the first when `leading` is false.
size_t scan_digits(std::string_view text, size_t at, int base, bool leading = false) {
  size_t end = at;
  while (end < text.size()) {
    const bool joined = text[end] == '_' && (end > at || leading);
    const size_t digit = end + (joined ? 1 : 0);
    if (digit >= text.size() || digit_value(text[digit]) >= base) break;
    end = digit + 1;
  }
  return end;
}

bool accumulate(std::string_view digits, int base, bool negative, int64_t& value) {
  value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    if (__builtin_mul_overflow(value, int64_t{base}, &value)) return false;
    const int64_t digit = negative ? -digit_value(c) : digit_value(c);
    if (__builtin_add_overflow(value, digit, &value)) return false;
  }
  return true;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

size_t scan_float(std::string_view text) {
  const size_t whole = scan_digits(text, 0, 10);
  size_t end = whole;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = scan_digits(text, end + 1, 10);
    if (fraction > end + 1) end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const size_t last = scan_digits(text, exponent, 10);
    if (last > exponent) return last;
  }
  return end > whole ? end : 0;
}

bool hex_escape(std::string_view text, size_t at, size_t digits, std::string& out) {
  if (at + digits > text.size()) return false;
  char32_t value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    const int digit = digit_value(text[i]);
    if (digit >= 16) return false;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
  append_utf8(value, out);
  return true;
}

}  // namespace

size_t scan_number(std::string_view text, bool may_be_float, Token& token) {
  if (const size_t size = may_be_float ? scan_float(text) : 0; size > 0) {
    token.kind = Token::Kind::Float;
    return parse_float(without_underscores(text.substr(0, size)), token.real) ? size : 0;
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10 && scan_digits(text, 2, base, true) == 2) base = 10;
  }
  size_t end = base == 10 ? scan_digits(text, 0, 10) : scan_digits(text, 2, base, true);
  if (base == 10 && text[0] == '0') {
    // 007 is the number 00 and then the number 7, which no rule of the grammar joins.
    end = scan_digits(text, 0, 1);
  }
  token.kind = Token::Kind::Integer;
  const std::string_view digits = text.substr(base == 10 ? 0 : 2, end - (base == 10 ? 0 : 2));
  return accumulate(digits, base, false, token.integer) ? end : 0;
}

bool unescape(std::string_view text, std::string& out) {
  static constexpr std::string_view kFrom = "abfnrtv\\'\"";
  static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i >= text.size()) return false;
    const char c = text[i];
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      out += kTo[known];
    } else if (c == '\n') {
      continue;  // a line that goes on
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      if (!hex_escape(text, i + 1, digits, out)) return false;
      i += digits;
    } else if (c >= '0' && c <= '7') {
      char32_t value = 0;
      size_t end = i;
      while (end < text.size() && end < i + 3 && text[end] >= '0' && text[end] <= '7') {
        value = value * 8 + static_cast<char32_t>(text[end++] - '0');
      }
      append_utf8(value, out);
      i = end - 1;
    } else if (c == 'N') {
      return false;
    } else {
      out += '\\';
      out += c;
    }
  }
  return true;
}

bool parse_int(std::string_view text, int base, int64_t& value, bool& overflow) {
  overflow = false;
  text = strip_left(strip_right(text));
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  bool leading = false;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int prefix = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (prefix != 0 && (base == prefix || base == 0)) {
      text.remove_prefix(2);
      base = prefix;
      leading = true;
    } else if (base == 0 && text.find_first_not_of("0_") != std::string_view::npos) {
      return false;
    }
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) return false;
  if (text.empty() || scan_digits(text, 0, base, leading) != text.size()) return false;
  overflow = !accumulate(text, base, negative, value);
  return !overflow;
}

bool parse_float(std::string_view text, double& value) {
  text = strip_left(strip_right(text));
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] == '-' || text[0] == '+' || text[0] == '_') return false;
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '_') {
      const bool between =
          digit_value(text[i - 1]) < 10 && i + 1 < text.size() && digit_value(text[i + 1]) < 10;
      if (!between) return false;
      continue;
    }
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  if (plain == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (plain == "inf" || plain == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (plain.find_first_not_of("0123456789.e+-") != std::string::npos) {
    return false;
  } else {
    const char* const end = plain.data() + plain.size();
    const auto [stop, error] = std::from_chars(plain.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) return false;
    if (error == std::errc::result_out_of_range) {
      // from_chars does not say which way; a value this far out is told by its exponent's sign.
      value = plain.find("e-") != std::string::npos ? 0.0 : HUGE_VAL;
    }
  }
  if (negative) value = -value;
  return true;
}

}  // namespace sluice::jinja
