#pragma once
#include "apps/run/recipe.h"
#include "workers/actor_critic_learner.h"
#include "workers/net_config.h"

#include <memory>
#include <string>

namespace sluice {

/// Where inference runs. Three placements of one graph.
enum class Layout : uint8_t {
  Inline,  ///< with every rollout replica, on its thread (IMPALA)
  Seed,    ///< with the trainer, on its thread (SEED)
  Split    ///< on threads of its own
};

/// PPO on one environment: `sluice run ppo --env CartPole-v1`.
struct PpoSettings {
  std::string env = "CartPole-v1";
  Layout layout = Layout::Inline;
  int64_t replicas = 1;  ///< rollout replicas
  int64_t envs = 64;     ///< environments per replica
  int64_t horizon = 128;
  int64_t threads = 2;    ///< of the trainer
  int64_t max_steps = 0;  ///< environment steps; 0 = without end
  int64_t checkpoint_every = 20;
  int64_t eval_every = 10;  ///< versions; 0 = never
  int64_t eval_episodes = 20;
  bool stop_at_target = false;  ///< end when an evaluation reaches `target`
  double target = 475;
  NetConfig net;
  PpoConfig ppo;

  void bind(ConfigBinder& b);
  /// Good settings for the environments we know.
  static PpoSettings for_env(const std::string& env);
};

/// rollout -> samples -> trainer -> weights -> policy -> rollout, strictly on-policy: a version
/// trains on exactly replicas * envs chunks that it made itself.
Result<Program> ppo_program(const PpoSettings& settings);

std::unique_ptr<Recipe> make_ppo_recipe();

}  // namespace sluice
