#pragma once
#include "envs/text/generated_task.h"

namespace sluice {

/// Knights and Knaves (Smullyan 1978): 1 + level people, each a knight who only says what is true
/// or a knave who only says what is false, say one thing each; exactly one assignment fits (found
/// by trying all). The answer lists all people in <answer> tags: "Zoey: knight, Liam: knave"; any
/// text in which each name is followed by one of the two words is read. Reward 1 when all are
/// right.
class KnightsAndKnavesTask final : public GeneratedTask {
 public:
  static constexpr int64_t kLevels = 7;
  explicit KnightsAndKnavesTask(const TextTaskOptions& options)
      : GeneratedTask("knights_and_knaves", options) {}
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 protected:
  [[nodiscard]] TextProblem draw(Draws& draws) const override;
};

}  // namespace sluice
