#include "dataflow/base/config_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace sluice {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

// Drops the underscores of 1_000 and a leading plus; nothing when an underscore is misplaced.
std::optional<std::string> plain_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !digit(text[i - 1]) || !digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  if (out.empty()) return std::nullopt;
  return out;
}

template <class T>
std::optional<T> parse_whole(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<bool> parse_bool(std::string_view text) {
  text = trim(text);
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  if (const auto exact = parse_whole<int64_t>(*plain)) return exact;
  const auto number = parse_whole<double>(*plain);
  // Beyond 2^53 a double no longer tells neighbours apart, so "exactly whole" means nothing there.
  if (!number || std::abs(*number) > 0x1p53 || std::trunc(*number) != *number) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<double> parse_double(std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  const auto number = parse_whole<double>(*plain);
  if (!number || std::isnan(*number)) return std::nullopt;
  return number;
}

std::optional<std::vector<int64_t>> parse_int_list(std::string_view text) {
  text = trim(text);
  if (text.starts_with('[')) {
    if (!text.ends_with(']')) return std::nullopt;
    text = trim(text.substr(1, text.size() - 2));
  }
  std::vector<int64_t> out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const auto number = parse_int(text.substr(0, comma));
    if (!number) return std::nullopt;
    out.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (trim(text).empty()) return std::nullopt;
  }
  return out;
}

std::string toml_double(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace sluice
