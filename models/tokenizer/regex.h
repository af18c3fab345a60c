#pragma once
#include "dataflow/base/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace sluice {

/// A range of bytes in a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

/// A regular expression as tokenizer.json means it: Oniguruma's syntax and classes, matched by
/// PCRE2 with its compiler on. Immutable; any thread may use it.
class Regex {
 public:
  /// InvalidArgument that begins with `path` when the pattern is malformed, or uses what the two
  /// engines read differently and that is not translated (class intersection, negated class inside
  /// a class, \W inside a class, start verbs).
  static Result<Regex> compile(std::string_view pattern, std::string_view path);

  /// All matches from left to right in valid UTF-8, appended. An empty match right behind another
  /// match is passed over. ResourceExhausted when matching takes too many steps.
  Status find_all(std::string_view text, std::vector<TextSpan>& out) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

/// The pattern in PCRE2's syntax; see Regex::compile for what is refused.
Result<std::string> translate_regex(std::string_view pattern, std::string_view path);

}  // namespace sluice
