#include "envs/text/formula_tokens.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 17> kFunctions = {
    "arcsin", "arccos", "arctan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "sin",    "cos",    "tan",    "exp",  "sqrt", "ln",   "log",  "abs"};
constexpr std::array<std::string_view, 9> kGreek = {"alpha",  "beta", "gamma", "delta", "theta",
                                                    "lambda", "phi",  "omega", "pi"};
// Left out wherever they stand.
constexpr std::array<std::string_view, 12> kPrint = {"left",  "right", "displaystyle", "quad",
                                                     "qquad", "big",   "Big",          "bigl",
                                                     "bigr",  "circ",  "degree",       "limits"};

// What is written in other alphabets, in plain signs.
constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
    {"\xE2\x88\x92", "-"}, {"\xC3\x97", "*"},     {"\xC3\xB7", "/"}, {"\xC2\xB7", "*"},
    {"\xE2\x8B\x85", "*"}, {"\xCF\x80", "\\pi "}, {"\xC2\xB0", " "}, {"\xE2\x88\x9A", " sqrt "}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

template <class List>
bool in(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string plain_signs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto* found = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const auto& sign) {
      return text.starts_with(sign.first);
    });
    if (found == std::end(kSigns)) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

class FormulaLexer {
 public:
  explicit FormulaLexer(std::string text) : text_(std::move(text)) {}

  Result<std::vector<FormulaToken>> run() {
    while (at_ < text_.size()) RETURN_IF_ERROR(step());
    out_.push_back({FormulaToken::Kind::End, "the end"});
    return std::move(out_);
  }

 private:
  void put(FormulaToken::Kind kind, std::string_view text) {
    out_.push_back({kind, std::string(text)});
  }

  Status step() {
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      number();
    } else if (is_letter(c)) {
      letters();
    } else if (c == '\\') {
      return backslash();
    } else if (text_.compare(at_, 2, "**") == 0) {
      put(FormulaToken::Kind::Operator, "^");
      at_ += 2;
    } else if (std::string_view("+-*/^()[]{}|").find(c) != std::string_view::npos) {
      put(FormulaToken::Kind::Operator, text_.substr(at_, 1));
      ++at_;
    } else if (std::string_view(" \t\n\r$~%").find(c) != std::string_view::npos) {
      ++at_;
    } else if (c == '.' && at_ + 1 == text_.size()) {
      ++at_;  // the end of a sentence
    } else {
      return invalid_argument("'{}' belongs to no formula", text_.substr(at_, 1));
    }
    return {};
  }

  // "1,234.5": a comma with three digits behind it, and no fourth, groups thousands.
  void number() {
    std::string digits;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const auto digit_at = [this](size_t i) { return i < text_.size() && is_digit(text_[i]); };
      if (c == ',' && digits.find('.') == std::string::npos && digit_at(at_ + 1) &&
          digit_at(at_ + 2) && digit_at(at_ + 3) && !digit_at(at_ + 4)) {
        ++at_;
        continue;
      }
      const bool dot = c == '.' && digits.find('.') == std::string::npos && digit_at(at_ + 1);
      if (!is_digit(c) && !dot) break;
      digits += c;
      ++at_;
    }
    put(FormulaToken::Kind::Number, digits);
  }

  std::string_view word() {
    size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    return std::string_view(text_).substr(at_, end - at_);
  }

  void letters() {
    std::string_view rest = word();
    at_ += rest.size();
    while (!rest.empty()) {
      size_t length = 1;
      for (const std::string_view name : kFunctions) {
        if (rest.starts_with(name)) length = std::max(length, name.size());
      }
      if (in(kGreek, rest)) length = rest.size();
      put(FormulaToken::Kind::Name, canonical(rest.substr(0, length)));
      rest.remove_prefix(length);
    }
  }

  static std::string canonical(std::string_view name) {
    if (name.starts_with("arc")) return fmt::format("a{}", name.substr(3));
    return std::string(name);
  }

  Status backslash() {
    ++at_;
    const std::string_view name = word();
    if (name.empty()) {  // "\," "\ " "\!" "\%" "\$" shape the print; "\{" is a bracket
      if (at_ >= text_.size()) return invalid_argument("a formula ends in '\\'");
      const char c = text_[at_++];
      if (c == '{' || c == '}') put(FormulaToken::Kind::Operator, c == '{' ? "(" : ")");
      return {};
    }
    at_ += name.size();
    if (name == "frac" || name == "dfrac" || name == "tfrac" || name == "cfrac") {
      put(FormulaToken::Kind::Command, "frac");
    } else if (name == "sqrt") {
      put(FormulaToken::Kind::Command, "sqrt");
    } else if (name == "cdot" || name == "times" || name == "ast") {
      put(FormulaToken::Kind::Operator, "*");
    } else if (name == "div") {
      put(FormulaToken::Kind::Operator, "/");
    } else if (name == "text" || name == "mathrm" || name == "mbox" || name == "textbf") {
      skip_braces();
    } else if (in(kFunctions, name) || in(kGreek, name)) {
      put(FormulaToken::Kind::Name, canonical(name));
    } else if (!in(kPrint, name)) {
      return invalid_argument("unknown command '\\{}'", name);
    } else if (name == "circ" && !out_.empty() && out_.back().text == "^") {
      out_.pop_back();
    }
    return {};
  }

  // Units and words beside a formula.
  void skip_braces() {
    if (at_ >= text_.size() || text_[at_] != '{') return;
    int depth = 0;
    do {
      depth += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
      ++at_;
    } while (depth > 0 && at_ < text_.size());
  }

  std::string text_;
  size_t at_ = 0;
  std::vector<FormulaToken> out_;
};

}  // namespace

bool is_formula_function(std::string_view name) { return in(kFunctions, name); }

Result<std::vector<FormulaToken>> formula_tokens(std::string_view text) {
  // "^{\circ}" is a sign, no power.
  std::string plain = plain_signs(text);
  for (size_t at = 0; (at = plain.find("^{\\circ}", at)) != std::string::npos;) plain.erase(at, 8);
  return FormulaLexer(std::move(plain)).run();
}

}  // namespace sluice
