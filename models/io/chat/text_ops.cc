#include "models/io/chat/text_ops.h"

#include "models/io/chat/access.h"
#include "models/io/chat/unicode.h"

#include <algorithm>

namespace sluice::jinja {

namespace {

bool strips(std::string_view character, const std::string_view* chars) noexcept {
  if (chars == nullptr) return is_space(code_point_at(character, 0).value);
  return chars->find(character) != std::string_view::npos;
}

bool push(Runtime& rt, std::string_view part, std::vector<Value>& parts) {
  if (!rt.step() || !rt.charge(sizeof(Value))) return false;
  parts.push_back(rt.str_view(part));
  return !parts.back().is(Kind::Failed);
}

size_t skip_spaces(std::string_view text, size_t at) {
  return text.size() - strip_left(text.substr(at)).size();
}

size_t word_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const CodePoint c = code_point_at(text, at);
    if (is_space(c.value)) break;
    at += c.size;
  }
  return at;
}

size_t word_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t at = previous_offset(text, end);
    if (is_space(code_point_at(text, at).value)) break;
    end = at;
  }
  return end;
}

bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

std::string_view stripped(std::string_view text, const std::string_view* chars, bool left,
                          bool right) noexcept {
  while (left && !text.empty()) {
    const size_t size = code_point_at(text, 0).size;
    if (!strips(text.substr(0, size), chars)) break;
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    const size_t at = previous_offset(text, text.size());
    if (!strips(text.substr(at), chars)) break;
    text = text.substr(0, at);
  }
  return text;
}

bool split(Runtime& rt, std::string_view text, const std::string_view* separator, int64_t limit,
           std::vector<Value>& parts) {
  if (!rt.step_bytes(text.size())) return false;
  size_t at = 0;
  if (separator != nullptr) {
    for (int64_t cuts = 0; limit < 0 || cuts < limit; ++cuts) {
      const size_t found = find_text(text, *separator, at);
      if (found == std::string_view::npos) break;
      if (!push(rt, text.substr(at, found - at), parts)) return false;
      at = found + separator->size();
    }
    return push(rt, text.substr(at), parts);
  }
  for (int64_t cuts = 0; (at = skip_spaces(text, at)) < text.size(); ++cuts) {
    if (limit >= 0 && cuts >= limit) return push(rt, text.substr(at), parts);
    const size_t end = word_end(text, at);
    if (!push(rt, text.substr(at, end - at), parts)) return false;
    at = end;
  }
  return true;
}

bool split_from_right(Runtime& rt, std::string_view text, const std::string_view* separator,
                      int64_t limit, std::vector<Value>& parts) {
  if (!rt.step_bytes(text.size())) return false;
  size_t end = text.size();
  if (separator != nullptr) {
    for (int64_t cuts = 0; limit < 0 || cuts < limit; ++cuts) {
      const size_t found = find_last(rt, text, *separator, end);
      if (rt.failed()) return false;
      if (found == std::string_view::npos) break;
      const size_t from = found + separator->size();
      if (!push(rt, text.substr(from, end - from), parts)) return false;
      end = found;
    }
    if (!push(rt, text.substr(0, end), parts)) return false;
  } else {
    for (int64_t cuts = 0; (end = strip_right(text.substr(0, end)).size()) > 0; ++cuts) {
      if (limit >= 0 && cuts >= limit) {
        if (!push(rt, text.substr(0, end), parts)) return false;
        break;
      }
      const size_t begin = word_begin(text, end);
      if (!push(rt, text.substr(begin, end - begin), parts)) return false;
      end = begin;
    }
  }
  std::reverse(parts.begin(), parts.end());
  return true;
}

bool split_lines(Runtime& rt, std::string_view text, bool keep_ends, std::vector<Value>& lines) {
  if (!rt.step_bytes(text.size())) return false;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (!ends_line(c.value)) {
      at += c.size;
      continue;
    }
    const bool pair = c.value == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    const size_t next = at + c.size + (pair ? 1 : 0);
    if (!push(rt, text.substr(begin, (keep_ends ? next : at) - begin), lines)) return false;
    begin = at = next;
  }
  return begin == text.size() || push(rt, text.substr(begin), lines);
}

Value replaced(Runtime& rt, std::string_view text, std::string_view old, std::string_view with,
               int64_t limit) {
  if (limit < 0) limit = INT64_MAX;
  if (!rt.step_bytes(text.size())) return Value::failed();
  std::string out;
  const auto append = [&](std::string_view part) {
    if (out.size() + part.size() > rt.limits().max_output_bytes) {
      rt.exhausted(fmt::format("a text of more than {} bytes", rt.limits().max_output_bytes));
      return false;
    }
    out += part;
    return true;
  };
  size_t at = 0;
  for (int64_t count = 0; count < limit; ++count) {
    // Nothing is found before every character and at the end.
    const size_t found = old.empty() ? at : find_text(text, old, at);
    if (found == std::string_view::npos) break;
    if (!rt.step_bytes(with.size()) || !append(text.substr(at, found - at)) || !append(with)) {
      return Value::failed();
    }
    at = found + old.size();
    if (!old.empty()) continue;
    if (at == text.size()) return rt.str(std::move(out));
    const size_t size = code_point_at(text, at).size;
    if (!append(text.substr(at, size))) return Value::failed();
    at += size;
  }
  if (!append(text.substr(at))) return Value::failed();
  return rt.str(std::move(out));
}

// Knuth, Morris and Pratt from the right: rfind's worst case is the product of both lengths.
size_t find_last(Runtime& rt, std::string_view text, std::string_view needle, size_t end) {
  constexpr size_t kShort = 16;
  if (needle.size() > end) return std::string_view::npos;
  if (needle.size() <= kShort) {
    const size_t found = text.substr(0, end).rfind(needle);
    const size_t walked = end - (found == std::string_view::npos ? 0 : found);
    return rt.step_bytes(walked) ? found : std::string_view::npos;
  }
  const size_t size = needle.size();
  if (!rt.charge_items(static_cast<int64_t>(size), sizeof(size_t)) || !rt.step_bytes(size)) {
    return std::string_view::npos;
  }
  const auto back = [&](size_t i) { return needle[size - 1 - i]; };
  std::vector<size_t> border(size, 0);
  for (size_t i = 1, length = 0; i < size; ++i) {
    while (length > 0 && back(i) != back(length)) length = border[length - 1];
    if (back(i) == back(length)) ++length;
    border[i] = length;
  }
  size_t matched = 0;
  size_t at = end;
  while (at > 0 && matched < size) {
    --at;
    while (matched > 0 && text[at] != back(matched)) matched = border[matched - 1];
    if (text[at] == back(matched)) ++matched;
  }
  if (!rt.step_bytes(4 * (end - at)) || matched < size) return std::string_view::npos;
  return at;
}

bool pad(Runtime& rt, std::string_view fill, int64_t count, std::string& out) {
  if (count <= 0) return true;
  size_t bytes = 0;
  if (__builtin_mul_overflow(fill.size(), static_cast<size_t>(count), &bytes) ||
      bytes > rt.limits().max_output_bytes - std::min(out.size(), rt.limits().max_output_bytes)) {
    rt.exhausted(fmt::format("a text of more than {} bytes", rt.limits().max_output_bytes));
    return false;
  }
  if (!rt.step_bytes(bytes)) return false;
  for (int64_t i = 0; i < count; ++i) out += fill;
  return true;
}

}  // namespace sluice::jinja
