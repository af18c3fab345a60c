#pragma once
#include "algorithms/ops/advantages.h"
#include "algorithms/ops/kl.h"
#include "dataflow/base/config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sluice {

struct AdvantageConfig {
  AdvantageRule rule = AdvantageRule::Grpo;
  double epsilon = 1e-6;   ///< beside the standard deviation; peers have 1e-9 to 1e-4
  double gamma = 1;        ///< [0, 1] discount per token; Gae and ReinforcePlusPlus
  double lambda = 1;       ///< [0, 1] Gae
  bool whiten = false;     ///< over the tokens of the whole update
  double reward_bias = 0;  ///< R <- clip((R + bias) scale, +-clip)
  double reward_scale = 1;
  double reward_clip = 0;  ///< 0 = off
  double kl_coef = 0;      ///< KL to the reference as a cost in the reward; 0 = off
  KlEstimator kl_estimator = KlEstimator::K1;
  double kl_target = 0;  ///< AdaptiveKl steers kl_coef to it; 0 = kl_coef stays
  double kl_horizon = 10000;

  void bind(ConfigBinder& b);
};

/// All rollouts of one update: N rollouts, T tokens.
struct RolloutSet {
  std::span<const double> reward;     ///< [N]; not finite: the sample failed
  std::span<const int64_t> group;     ///< [N]
  std::span<const double> baseline;   ///< [N] reward of the greedy sample; ReMax
  std::span<const double> bootstrap;  ///< [N] value after the last token; Gae, empty: 0
  at::Tensor mask;                    ///< bool [T] or undefined
  at::Tensor sequence;                ///< int64 [T], indices 0..N-1, equal ones adjacent
  at::Tensor logprob;                 ///< [T] old policy; read when kl_coef > 0
  at::Tensor reference;               ///< [T] the same
  at::Tensor value;                   ///< [T] critic; Gae
};

struct TokenAdvantages {
  at::Tensor advantage;  ///< fp64 [T], 0 where the mask is
  at::Tensor returns;    ///< fp64 [T], targets of the critic; Gae only
  at::Tensor mask;       ///< bool [T]: the given one without failed samples. Train on this one.
  GroupCounts counts;
  double kl = 0;  ///< mean over rollouts of the summed KL estimate, for AdaptiveKl
};

/// Advantages of every token. `kl_coef` overrides the configured one where an AdaptiveKl runs.
/// KL in the reward is a cost per token for Gae, ReinforcePlusPlus and ReMax, and is taken off the
/// rollout's reward, summed, for the rules that have one reward per rollout.
[[nodiscard]] TokenAdvantages token_advantages(const AdvantageConfig& config,
                                               const RolloutSet& rollouts, double kl_coef);
[[nodiscard]] TokenAdvantages token_advantages(const AdvantageConfig& config,
                                               const RolloutSet& rollouts);

}  // namespace sluice
