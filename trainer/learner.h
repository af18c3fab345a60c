#pragma once
#include "algorithms/ppo.h"
#include "dataflow/base/random.h"
#include "models/nets/actor_critic.h"
#include "trainer/optim/adam.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// The columns of a whole batch of experience, one row per step, any order.
struct LearnBatch {
  int64_t rows = 0;
  const float* observation = nullptr;  ///< [rows, spec.observation]
  const int64_t* choice = nullptr;     ///< categorical head: [rows]
  const float* action = nullptr;       ///< Gaussian head: [rows, head.size], as drawn
  const float* log_prob = nullptr;     ///< [rows] of the policy that acted
  const float* value = nullptr;        ///< [rows] of the critic that acted
  const float* advantage = nullptr;    ///< [rows]
  const float* returns = nullptr;      ///< [rows] targets of the critic
};

/// Improves an ActorCritic by epochs over minibatches of a batch. The order of rows comes from a
/// key and the number of the update alone, so that a run repeats bit for bit, also from a saved
/// state. One thread calls it; the network must not be used by others during step().
///
///   RETURN_IF_ERROR(learner.begin(batch, annealed_rate(config, i, iterations)));
///   while (learner.step()) check_for_stop();
///   publish(net.parameters());
class Learner {
 public:
  using Stats = std::vector<std::pair<std::string, double>>;

  virtual ~Learner() = default;

  /// Starts an update; an unfinished one is dropped. The columns may be freed afterwards.
  /// InvalidArgument when the rows do not divide into the minibatches or a column is missing.
  virtual Status begin(const LearnBatch& batch, double learning_rate) = 0;
  /// Works off one minibatch. False when the update is finished: nothing was left to do, or this
  /// was the last one.
  virtual bool step() = 0;
  /// Means over the update so far: policy_loss, value_loss, entropy, approx_kl, clip_fraction (as
  /// far as the algorithm has them), grad_norm, minibatches, stopped_early.
  [[nodiscard]] virtual Stats stats() const = 0;

  /// Parameters, optimizer and counters, taken between updates.
  [[nodiscard]] virtual std::string save() const = 0;
  /// DataLoss when the bytes are not a saved state of this network.
  virtual Status load(std::string_view bytes) = 0;

  /// begin() and all steps.
  Status update(const LearnBatch& batch, double learning_rate);
};

/// What learners share: who is trained, how often, and in which order.
struct UpdateConfig {
  int64_t epochs = 4;
  int64_t minibatches = 4;
  double max_grad_norm = 0.5;
  AdamConfig adam;
};
[[nodiscard]] UpdateConfig update_config(const PpoConfig& config);

/// Checks a batch against a network and the number of minibatches.
Status check_batch(const LearnBatch& batch, const ActorCriticSpec& spec, int64_t minibatches);

/// The permutation of epoch `epoch` of update `update`, which both learners follow.
void epoch_order(RandomKey key, int64_t update, int64_t epoch, int64_t rows, int64_t* out);

/// The state that every learner saves.
std::string save_learner(const ParameterSet& parameters, const Adam& adam, int64_t update);
Status load_learner(std::string_view bytes, ParameterSet& parameters, Adam& adam, int64_t& update);

}  // namespace sluice
