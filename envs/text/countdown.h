#pragma once
#include "envs/text/generated_task.h"

#include <string_view>
#include <vector>

namespace sluice {

/// What an arithmetic expression of whole numbers says: its exact value as a reduced fraction, and
/// the numbers in it.
struct CountdownValue {
  int64_t above = 0;
  int64_t below = 1;
  std::vector<int64_t> numbers;
};

/// Reads whole numbers, + - * / (also as signs of print) and brackets; nothing else, no signs in
/// front of numbers. InvalidArgument for anything else and for a division by zero,
/// ResourceExhausted beyond 200 bytes or 63 bits.
Result<CountdownValue> countdown_value(std::string_view expression);

/// Countdown: reach a target with 2 + level given numbers, each exactly once (TinyZero's form). The
/// expression stands in <answer> tags; "= target" behind it is let pass. Parts: "format" 0.1 for
/// tags that hold an expression, "correct" 0.9. Every problem has a solution, kept in the field
/// "solution"; "numbers" and "target" are fields.
class CountdownTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 4;
  explicit CountdownTask(const TextTaskOptions& options) : GeneratedTask("countdown", options) {}
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

}  // namespace sluice
