#pragma once
#include "algorithms/ppo.h"
#include "models/nets/actor_critic.h"
#include "models/nets/running_stats.h"
#include "trainer/learner.h"
#include "workers/trajectory_learner.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Trains by PPO on the fused kernels.
LearnerFactory ppo(const PpoConfig& config);

/// Trains with a loss of your own through autograd, on the same advantages, minibatches, clipping
/// and Adam as ppo(); `config` gives those settings, and the loss sees what Algorithm says.
///
///   .learner = with_algorithm([] { return std::make_unique<MyLoss>(); }, config)
LearnerFactory with_algorithm(std::function<std::unique_ptr<Algorithm>()> make,
                              const PpoConfig& config);

/// Turns trajectories into the flat columns an actor-critic update takes (generalised advantages,
/// bootstrap at truncation, running normalisation of observations and rewards) and hands them to a
/// Learner. Observations are normalised with the statistics of the version being trained, which are
/// part of that policy (so ratios to what acted stay right however stale a chunk is); what was seen
/// counts from the next version on.
class ActorCriticLearner final : public TrajectoryLearner {
 public:
  using MakeUpdate = std::function<std::unique_ptr<Learner>(ActorCritic&, const LearnerSetup&)>;

  ActorCriticLearner(const ActorCriticSpec& spec, const LearnerSetup& setup,
                     const PpoConfig& config, const MakeUpdate& make_update);

  Status begin(std::span<const std::shared_ptr<const Trajectory>> chunks) override;
  Result<bool> step() override;
  [[nodiscard]] Stats stats() const override;
  [[nodiscard]] Weights weights() const override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 private:
  void add_chunk(const Trajectory& chunk, int64_t row);
  bool follows_on(const Trajectory& chunk);
  void refresh_normaliser();
  [[nodiscard]] Status check_finite() const;

  PpoConfig config_;
  bool normalise_observations_;
  int64_t width_;
  int64_t iterations_;  ///< of the whole run, for the learning rate; 0 = open
  ActorCritic net_;
  std::unique_ptr<Learner> update_;
  int64_t updates_ = 0;
  RunningStats observations_;        ///< all that was seen
  std::vector<float> mean_, scale_;  ///< of the current version
  ReturnNormaliser rewards_;
  std::vector<int64_t> next_chunk_;  ///< number that follows on, per slot
  std::vector<uint8_t> ended_;

  std::vector<float> observation_, action_, log_prob_, value_, advantage_, returns_, reward_;
  std::vector<int64_t> choice_;
};

}  // namespace sluice
