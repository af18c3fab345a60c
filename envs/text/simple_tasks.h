#pragma once
#include "envs/text/generated_task.h"

namespace sluice {

/// "Which number is larger, 9.11 or 9.9?". Level 1: whole numbers of up to 2 digits, 2: up to 4
/// digits, 3: decimals of one and two places, 4: decimals of up to four places. The last number of
/// the response counts.
class ComparisonTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 4;
  explicit ComparisonTask(const TextTaskOptions& options) : GeneratedTask("comparison", options) {}

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

/// "How many times does the digit 3 occur in 31337?" with 3 * level digits.
class DigitCountTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 6;
  explicit DigitCountTask(const TextTaskOptions& options) : GeneratedTask("digit_count", options) {}

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

/// "How many times does the letter 'r' occur in 'strawberry'?" in `level` words.
class LetterCountTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 6;
  explicit LetterCountTask(const TextTaskOptions& options)
      : GeneratedTask("letter_count", options) {}

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

/// Reverse a string of 2 + 2 * level letters, sort 2 + level words, or write as many words in upper
/// case. The answer stands in <answer> tags; space around it and around commas does not count.
class StringTask final : public GeneratedTask {
 public:
  enum class Kind : uint8_t { Reverse, Sort, Upper };
  static constexpr int64_t kLevels = 6;
  StringTask(Kind kind, const TextTaskOptions& options);

  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;

 private:
  Kind kind_;
};
template <StringTask::Kind K>
Result<std::unique_ptr<TextTask>> make_string_task(const TextTaskOptions& options) {
  RETURN_IF_ERROR(check_difficulty(options, StringTask::kLevels));
  return std::unique_ptr<TextTask>(std::make_unique<StringTask>(K, options));
}

}  // namespace sluice
