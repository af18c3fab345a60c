#pragma once
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/regex.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// {"String": "..."} or {"Regex": "..."} of tokenizer.json.
class Pattern {
 public:
  static Result<Pattern> from_json(const JsonFields& owner, std::string_view key);
  static Pattern literal(std::string text);
  static Result<Pattern> regex(std::string_view text, std::string_view path);

  /// Appends all matches from left to right.
  Status find_all(std::string_view text, std::vector<TextSpan>& out) const;
  /// The text with every match replaced by `content`, as it stands. ResourceExhausted, and the text
  /// as it was, when the result would exceed both `most` bytes and the text itself.
  Status replace_all(std::string& text, std::string_view content, size_t most) const;

  [[nodiscard]] bool is_regex() const { return regex_.has_value(); }
  /// What was given.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::optional<Regex> regex_;
};

/// What becomes of the matches when a text is split by them.
enum class SplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};
Result<SplitBehavior> split_behavior(const JsonFields& owner, std::string_view key);

/// Cuts `size` bytes at `matches` (from left to right, not overlapping) and appends the parts that
/// are kept, empty ones left out. `invert`: what lies between the matches counts as matched.
void split(size_t size, const std::vector<TextSpan>& matches, SplitBehavior behavior, bool invert,
           std::vector<TextSpan>& out);

}  // namespace sluice
