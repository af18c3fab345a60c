#pragma once
#include "dataflow/types/control.h"
#include "dataflow/types/weights.h"
#include "models/nets/actor_critic.h"
#include "models/nets/distributions.h"
#include "workers/net_config.h"

#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// An actor-critic that answers observations with actions, at one version of its weights. Used by
/// one thread. Draws depend on the slot and its draw counter only, never on batching or on who
/// answers.
class PolicyModel {
 public:
  /// `key` is the run's; `fields` is the number of observation columns in front of the slot column.
  PolicyModel(const ActorCriticSpec& spec, RandomKey key);

  /// Takes over a version after checking names, shapes and digest; on any mismatch the old version
  /// stays, bit for bit, and the status says what differed.
  Status install(const Weights& weights);
  [[nodiscard]] const VersionTag& version() const noexcept { return version_; }

  /// One question and where its answer goes; both outlive the call.
  struct Question {
    const Observation* in;
    Action* out;
  };
  /// Fills `out` for every row of `in`, of all questions in one forward pass: a drawn action and
  /// its log probability where one is wanted, and the value. An error, with nothing answered, when
  /// an `in` has more rows than its `out` holds.
  Status answer(std::span<const Question> questions);
  Status answer(const Observation& in, Action& out);
  /// Forward passes so far.
  [[nodiscard]] int64_t passes() const noexcept { return passes_; }

  /// The most likely action for each of `rows` observations [rows, observation].
  void act_greedily(const float* observations, int64_t rows, void* actions);

 private:
  const float* normalised(const float* observations, int64_t rows);
  const float* gather(std::span<const Question> questions, int64_t rows);
  [[nodiscard]] ActionRows rows_of(void* actions, int64_t offset) const;
  void reserve(int64_t rows);

  RandomKey key_;
  ActorCritic net_;
  ActorCriticScratch scratch_;
  VersionTag version_;
  std::vector<float> mean_;  ///< empty: observations are not normalised
  std::vector<float> scale_;
  std::vector<float> inputs_;
  std::vector<float> head_;
  std::vector<RandomKey> keys_;
  std::vector<float> values_;
  std::vector<uint64_t> draws_;
  int64_t passes_ = 0;
};

/// Names of the tensors that carry the observation normaliser inside Weights.
inline constexpr std::string_view kObsMean = "normaliser.mean";
inline constexpr std::string_view kObsScale = "normaliser.scale";
/// Normalised observations are clamped to this many standard deviations.
inline constexpr float kObsClip = 10.0F;

/// out = clamp((in - mean) * scale), row by row. The one place where observations are normalised.
void normalise_observations(const float* in, int64_t rows, const std::vector<float>& mean,
                            const std::vector<float>& scale, float* out);

}  // namespace sluice
