#include "envs/text/same_answer.h"

#include "envs/text/algebra.h"
#include "envs/text/answer.h"
#include "envs/text/number.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr size_t kMaxParts = 32;

void strip(std::string& text, std::string_view what) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;) text.erase(at, what.size());
}

// Without what only shapes the print.
std::string cleaned(std::string_view answer) {
  std::string text(answer);
  for (const std::string_view what :
       {"$", "\\left", "\\right", "\\!", "\\,", "\\;", "\\(", "\\)", "\\[", "\\]"}) {
    strip(text, what);
  }
  text = trimmed(text);
  while (text.ends_with('.') || text.ends_with(',')) text.pop_back();
  return std::string(trimmed(text));
}

std::string without_space(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) out += c;
  }
  return out;
}

// "x = 5" -> "5"; "f(x) = .." and "x > 5" stay.
std::string_view right_side(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find('=', equals + 1) != std::string_view::npos) {
    return text;
  }
  const std::string_view left = trimmed(text.substr(0, equals));
  const bool letter = left.size() == 1 && std::isalpha(static_cast<unsigned char>(left[0])) != 0;
  return letter ? trimmed(text.substr(equals + 1)) : text;
}

// An answer as its brackets and what the commas between them part. Without commas: one part, which
// has its brackets still.
struct Parts {
  std::string open;
  std::string close;
  std::vector<std::string_view> parts;
};

bool groups_thousands(std::string_view text, size_t comma) {
  const auto digit = [text](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  return comma > 0 && digit(comma - 1) && digit(comma + 1) && digit(comma + 2) &&
         digit(comma + 3) && !digit(comma + 4);
}

std::vector<std::string_view> top_level_parts(std::string_view text, bool thousands) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[i]) != std::string_view::npos) --depth;
    if (text[i] == ',' && depth == 0 && !(thousands && groups_thousands(text, i))) {
      out.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  out.push_back(trimmed(text.substr(begin)));
  return out;
}

Parts split(std::string_view text) {
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"\\{", "\\}"},
                                    {"(", ")"},
                                    {"[", "]"},
                                    {"(", "]"},
                                    {"[", ")"}}) {
    if (text.size() < open.size() + close.size() || !text.starts_with(open) ||
        !text.ends_with(close)) {
      continue;
    }
    // Between brackets a comma parts: "(1,234)" is a point.
    auto parts =
        top_level_parts(text.substr(open.size(), text.size() - open.size() - close.size()), false);
    if (parts.size() > 1 || open == "\\{") {
      return {std::string(open), std::string(close), std::move(parts)};
    }
  }
  return {"", "", top_level_parts(text, true)};
}

// One part. Ok(false) also when `given` is no mathematics.
Result<bool> same_part(std::string_view given, std::string_view reference) {
  given = right_side(given);
  reference = right_side(reference);
  if (without_space(given) == without_space(reference)) return true;
  const auto number = canonical_decimal(given);
  if (number && number == canonical_decimal(reference)) return true;
  const auto wanted = parse_expression(reference);
  if (wanted.status().code() == Code::ResourceExhausted) return wanted.status();
  if (!wanted.ok()) return false;  // words: only equal as texts
  const auto shown = parse_expression(given);
  if (!shown.ok()) return false;
  auto same = same_value(*shown, *wanted);
  if (same.ok()) return same;
  // Whose fault is it?
  const auto itself = same_value(*wanted, *wanted);
  if (!itself.ok()) return itself.status().with_context(reference);
  return false;
}

Result<bool> same_in_order(const Parts& given, const Parts& reference) {
  for (size_t i = 0; i < given.parts.size(); ++i) {
    ASSIGN_OR_RETURN(const bool same, same_part(given.parts[i], reference.parts[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> same_sets(const Parts& given, const Parts& reference) {
  std::vector<bool> used(reference.parts.size());
  for (const std::string_view part : given.parts) {
    bool matched = false;
    for (size_t j = 0; j < used.size() && !matched; ++j) {
      if (used[j]) continue;
      ASSIGN_OR_RETURN(matched, same_part(part, reference.parts[j]));
      used[j] = matched;
    }
    if (!matched) return false;
  }
  return true;
}

}  // namespace

Result<bool> same_answer(std::string_view given, std::string_view reference) {
  // Far beyond any answer: not worth a look.
  if (given.size() > 4 * kMaxExpressionBytes) return false;
  const std::string given_text = cleaned(given);
  const std::string reference_text = cleaned(reference);
  if (without_space(given_text) == without_space(reference_text)) return true;
  if (given_text.empty()) return false;
  const Parts shown = split(given_text);
  const Parts wanted = split(reference_text);
  if (shown.open != wanted.open || shown.close != wanted.close ||
      shown.parts.size() != wanted.parts.size() || wanted.parts.size() > kMaxParts) {
    return false;
  }
  return wanted.open == "\\{" ? same_sets(shown, wanted) : same_in_order(shown, wanted);
}

}  // namespace sluice
