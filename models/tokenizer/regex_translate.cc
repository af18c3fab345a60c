// Oniguruma's pattern syntax (its "Ruby-like" default, doc/RE) into PCRE2's where the two differ.
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/regex.h"

namespace sluice {
namespace {

/// \w of Oniguruma: Alphabetic, marks, decimal digits, connectors, and six numbers of Latin-1.
constexpr std::string_view kWord =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}\\x{24B6}-\\x{24E9}"
    "\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}";
constexpr std::string_view kHex = "0-9a-fA-F";

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view path) : in_(pattern), path_(path) {}

  Result<std::string> run() {
    while (at_ < in_.size()) RETURN_IF_ERROR(step());
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts(std::string_view text) const {
    return in_.substr(at_, text.size()) == text;
  }
  void take(size_t n = 1) {
    out_ += in_.substr(at_, n);
    at_ += n;
  }
  [[nodiscard]] Status refuse(std::string_view what) const {
    return invalid_argument("{}: {} is not supported in the pattern {}", path_, what, quoted(in_));
  }

  Status step() {
    if (peek() == '\\') return escape();
    if (depth_ > 0) return in_class();
    if (peek() == '[') {
      ++depth_;
      take();
      if (peek() == '^') take();
      if (peek() == ']') take();  // the first one is itself
    } else if (starts("(*")) {
      return refuse("(*");
    } else if (starts("(?")) {
      flags();
    } else if (starts("{,")) {
      out_ += "{0,";
      at_ += 2;
    } else {
      take();
    }
    return {};
  }

  Status in_class() {
    if (starts("&&")) return refuse("&& in a class");
    if (starts("[:")) {
      const size_t end = in_.find(":]", at_ + 2);
      if (end != std::string_view::npos) {
        take(end + 2 - at_);
        return {};
      }
    }
    if (peek() == '[') {
      if (peek(1) == '^') return refuse("a negated class in a class");
      ++depth_;  // the union with a class is its members
      ++at_;
    } else if (peek() == ']') {
      if (--depth_ == 0) {
        take();
      } else {
        ++at_;
      }
    } else {
      take();
    }
    return {};
  }

  /// (?m) is "dot takes newlines" there and PCRE2's (?s).
  void flags() {
    size_t end = at_ + 2;
    while (end < in_.size() &&
           (in_[end] == '-' || in_[end] == 'i' || in_[end] == 'm' || in_[end] == 'x')) {
      ++end;
    }
    const bool group = end < in_.size() && end > at_ + 2 && (in_[end] == ':' || in_[end] == ')');
    take(2);
    if (!group) return;
    for (; at_ < end; ++at_) out_ += in_[at_] == 'm' ? 's' : in_[at_];
  }

  Status escape() {
    const char c = peek(1);
    const auto set = [&](std::string_view members, bool negated) -> Status {
      at_ += 2;
      if (depth_ > 0) {
        if (negated) return refuse("a negated escape in a class");
        out_ += members;
      } else {
        out_ += negated ? "[^" : "[";
        out_ += members;
        out_ += ']';
      }
      return {};
    };
    switch (c) {
      case 'w':
        return set(kWord, false);
      case 'W':
        return set(kWord, true);
      case 'h':
        return set(kHex, false);
      case 'H':
        return set(kHex, true);
      case 'v':
        out_ += "\\x0B";
        at_ += 2;
        return {};
      case 'u':
        if (peek(2) == '{') {
          out_ += "\\x";
          at_ += 2;
        } else {
          out_ += "\\x{";
          out_ += in_.substr(std::min(at_ + 2, in_.size()), 4);
          out_ += '}';
          at_ = std::min(at_ + 6, in_.size());
        }
        return {};
      default:
        take(std::min<size_t>(2, in_.size() - at_));
        return {};
    }
  }

  std::string_view in_;
  std::string_view path_;
  std::string out_;
  size_t at_ = 0;
  int depth_ = 0;  ///< open character classes
};

}  // namespace

Result<std::string> translate_regex(std::string_view pattern, std::string_view path) {
  return Translator(pattern, path).run();
}

}  // namespace sluice
