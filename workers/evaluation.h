#pragma once
#include "dataflow/base/whereabouts.h"
#include "envs/env.h"
#include "workers/policy_model.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What an evaluation came to.
struct EpisodeScore {
  VersionTag version;
  std::vector<double> returns;  ///< undiscounted, one per episode
  std::vector<int64_t> lengths;

  [[nodiscard]] double mean() const;
  [[nodiscard]] double deviation() const;  ///< population standard deviation
};

/// Plays `episodes` whole episodes with the most likely actions, all of them side by side, one step
/// of every unfinished one per step(). Episode i starts from its own seed, so that the score does
/// not depend on the order of anything.
class Evaluation {
 public:
  /// Whoever holds `where` sees in which episode a step or reset hangs.
  static Result<Evaluation> begin(
      const std::string& env, int64_t episodes, RandomKey key,
      std::shared_ptr<Whereabouts> where = std::make_shared<Whereabouts>());

  /// False when all episodes have ended.
  Result<bool> step(PolicyModel& model);
  [[nodiscard]] const EpisodeScore& score() const noexcept { return score_; }
  EpisodeScore& score() noexcept { return score_; }

 private:
  /// A call of an environment; its errors name the episode and its step.
  template <class F>
  Status call(size_t episode, F env_call);

  std::shared_ptr<Whereabouts> where_;
  std::vector<std::unique_ptr<Env>> envs_;
  std::vector<int64_t> alive_;       ///< episodes that go on; row r of the buffers is alive_[r]
  std::vector<float> observations_;  ///< [alive, width]
  std::vector<char> actions_;        ///< [alive, action bytes]
  std::vector<float> clipped_;
  int64_t width_ = 0;
  int64_t action_bytes_ = 0;
  EpisodeScore score_;
};

}  // namespace sluice
