#pragma once
#include "envs/text/generated_task.h"

namespace sluice {

/// Sums told as stories of 1 + level steps, in GSM8K's form (arXiv 2110.14168): the field
/// "solution" holds the steps with their "<<2*3=6>>" marks and "#### answer" at the end, for
/// supervised warm-up. Parts: "correct" 0.9 by the number in any form of answer, "format" 0.1 for a
/// number behind "####".
class WordProblemsTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 6;
  explicit WordProblemsTask(const TextTaskOptions& options)
      : GeneratedTask("word_problems", options) {}
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

}  // namespace sluice
