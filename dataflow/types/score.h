#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// What a judge thinks of one answer. A failure (the reward could not be computed) is never a
/// reward of 0: who trains leaves such an answer out.
struct Score {
  double reward = 0;                                  ///< the weighted sum of the parts
  std::vector<std::pair<std::string, double>> parts;  ///< by name, before weighting
  bool failed = false;
  std::string why;  ///< of the failure
};

/// Answers to one problem that want a score each.
struct JudgeRequest {
  static constexpr std::string_view kPayloadName = "JudgeRequest";

  int64_t problem = 0;  ///< index in the task
  bool held_out = false;
  std::vector<std::string> answers;

  [[nodiscard]] int64_t weight() const noexcept { return static_cast<int64_t>(answers.size()); }
};

/// One score for each answer, in their order.
struct Scores {
  static constexpr std::string_view kPayloadName = "Scores";

  std::vector<Score> scores;
};

}  // namespace sluice
