#include "models/io/chat/text_case.h"

#include "models/io/chat/text_ops.h"
#include "models/io/chat/unicode.h"

namespace sluice::jinja {

std::string to_title(std::string_view text) {
  std::string out;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    if (within) {
      append_lower(c.value, out);
    } else {
      append_title(c.value, out);
    }
    within = is_lower(c.value) || is_upper(c.value);
  }
  return out;
}

std::string title_words(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto separates = [](char32_t c) {
      return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    };
    const CodePoint first = code_point_at(text, at);
    append_upper(first.value, out);
    at += first.size;
    if (separates(first.value)) continue;
    size_t end = at;
    while (end < text.size() && !separates(code_point_at(text, end).value)) {
      end += code_point_at(text, end).size;
    }
    out += to_lower(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::string capitalized(std::string_view text) {
  std::string out;
  if (text.empty()) return out;
  const CodePoint first = code_point_at(text, 0);
  append_title(first.value, out);
  return out + to_lower(text.substr(first.size));
}

std::string swapped_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    if (is_upper(c.value)) {
      append_lower(c.value, out);
    } else {
      append_upper(c.value, out);
    }
  }
  return out;
}

bool is_cased(std::string_view text, bool upper) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    if (upper ? is_lower(c.value) : is_upper(c.value)) return false;
    found = found || (upper ? is_upper(c.value) : is_lower(c.value));
  }
  return found;
}

Value centred(Runtime& rt, std::string_view text, int64_t width, std::string_view fill, int side) {
  const int64_t missing = width - code_points(text);
  if (missing <= 0) return rt.str(std::string(text));
  // Python puts the odd one to the left when the width is odd.
  const int64_t left = side > 0 ? 0 : side < 0 ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  if (!pad(rt, fill, left, out)) return Value::failed();
  out += text;
  if (!pad(rt, fill, missing - left, out)) return Value::failed();
  return rt.str(std::move(out));
}

}  // namespace sluice::jinja
