#include "envs/text/number.h"

namespace sluice {
namespace {

constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212, which models like to write

bool digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && digit(text[end])) ++end;
  return end - at;
}

// Length of "1,234,567" at `at`, or of the digits there when no separator groups them rightly.
size_t grouped_at(std::string_view text, size_t at) {
  const size_t first = digits_at(text, at);
  size_t length = first;
  if (first < 1 || first > 3) return length;
  while (at + length < text.size() && text[at + length] == ',' &&
         digits_at(text, at + length + 1) == 3) {
    length += 4;
  }
  return length;
}

// Length of an unsigned decimal at `at`; 0 when there is none.
size_t decimal_at(std::string_view text, size_t at) {
  const size_t whole = grouped_at(text, at);
  const size_t dot = at + whole;
  if (dot < text.size() && text[dot] == '.') {
    const size_t decimals = digits_at(text, dot + 1);
    if (decimals > 0) return whole + 1 + decimals;
  }
  return whole;
}

// Length of the sign in front of position `at`.
size_t sign_before(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  if (before.ends_with(kMinus)) return kMinus.size();
  return before.ends_with('-') || before.ends_with('+') ? 1 : 0;
}

// True when a sign behind `before` joins two terms.
bool ends_in_term(std::string_view before) {
  if (before.empty()) return false;
  const char c = before.back();
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ')' || c == ']' ||
         c == '}';
}

}  // namespace

std::string_view last_number(std::string_view text) noexcept {
  std::string_view last;
  for (size_t at = 0; at < text.size();) {
    size_t length = decimal_at(text, at);
    if (length == 0) {
      ++at;
      continue;
    }
    if (at + length < text.size() && text[at + length] == '/') {
      const size_t below = decimal_at(text, at + length + 1);
      if (below > 0) length += 1 + below;
    }
    const size_t sign = sign_before(text, at);
    const bool is_signed = sign > 0 && !ends_in_term(text.substr(0, at - sign));
    last = is_signed ? text.substr(at - sign, sign + length) : text.substr(at, length);
    at += length;
  }
  return last;
}

std::optional<std::string> canonical_decimal(std::string_view text) {
  bool negative = false;
  if (text.starts_with(kMinus)) {
    negative = true;
    text.remove_prefix(kMinus.size());
  } else if (text.starts_with('-') || text.starts_with('+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || decimal_at(text, 0) != text.size()) return std::nullopt;
  const size_t dot = text.find('.');
  std::string whole;
  for (const char c : text.substr(0, dot)) {
    if (c != ',') whole += c;
  }
  whole.erase(0, whole.find_first_not_of('0'));
  std::string_view decimals = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  while (decimals.ends_with('0')) decimals.remove_suffix(1);
  const bool zero = whole.empty() && decimals.empty();
  std::string out = negative && !zero ? "-" : "";
  out += whole.empty() ? "0" : whole;
  if (!decimals.empty()) (out += '.') += decimals;
  return out;
}

}  // namespace sluice
