#include "algorithms/llm/token_advantages.h"

#include "algorithms/llm/policy_loss_config.h"
#include "algorithms/ops/aggregate.h"
#include "algorithms/ops/shaping.h"
#include "algorithms/ops/token_returns.h"
#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using at::Tensor;

// Sums over the tokens of each rollout that count, [N] in fp64 on the CPU.
std::vector<double> rollout_sums(const Tensor& values, const Tensor& mask, const Tensor& sequence,
                                 size_t n) {
  const TokenRows rows(mask, sequence);
  const Tensor sums = at::zeros({static_cast<int64_t>(n)}, at::kDouble)
                          .index_add(0, rows.select(sequence).cpu(),
                                     rows.select(values).detach().to(at::kCPU, at::kDouble));
  const double* s = sums.data_ptr<double>();
  return {s, s + n};
}

std::vector<double> shaped_rewards(const AdvantageConfig& config, std::span<const double> reward) {
  std::vector<double> result(reward.begin(), reward.end());
  for (double& r : result) {
    r = (r + config.reward_bias) * config.reward_scale;
    if (config.reward_clip > 0 && std::isfinite(r)) {
      r = std::clamp(r, -config.reward_clip, config.reward_clip);
    }
  }
  return result;
}

std::vector<uint8_t> inverted(const std::vector<uint8_t>& flags) {
  std::vector<uint8_t> result(flags.size());
  std::transform(flags.begin(), flags.end(), result.begin(),
                 [](uint8_t f) { return f == 0 ? 1 : 0; });
  return result;
}

bool has_token_rewards(AdvantageRule rule) {
  return rule == AdvantageRule::Gae || rule == AdvantageRule::ReinforcePlusPlus ||
         rule == AdvantageRule::ReMax;
}

}  // namespace

void AdvantageConfig::bind(ConfigBinder& b) {
  b.field("rule", rule, "how rewards become advantages",
          {{"gae", AdvantageRule::Gae},
           {"grpo", AdvantageRule::Grpo},
           {"drgrpo", AdvantageRule::DrGrpo},
           {"rloo", AdvantageRule::Rloo},
           {"leave-one-out", AdvantageRule::LeaveOneOut},
           {"reinforce++", AdvantageRule::ReinforcePlusPlus},
           {"reinforce++-baseline", AdvantageRule::ReinforcePlusPlusBaseline},
           {"remax", AdvantageRule::ReMax},
           {"opo", AdvantageRule::Opo},
           {"gpg", AdvantageRule::Gpg},
           {"maxrl", AdvantageRule::MaxRl},
           {"pass@k", AdvantageRule::PassK}});
  b.field("epsilon", epsilon, "added to the group's standard deviation", Range::between(0, 1));
  b.field("gamma", gamma, "discount per token", Range::between(0, 1));
  b.field("lambda", lambda, "mixing of generalised advantage estimation", Range::between(0, 1));
  b.field("whiten", whiten, "to mean 0 and deviation 1 over the tokens of the update");
  b.field("reward_bias", reward_bias, "added to every reward");
  b.field("reward_scale", reward_scale, "then multiplied with");
  b.field("reward_clip", reward_clip, "then clipped to plus and minus this; 0 = off",
          Range::at_least(0));
  b.field("kl_coef", kl_coef, "KL to the reference as a cost in the reward; 0 = off",
          Range::at_least(0));
  b.field("kl_estimator", kl_estimator, "estimator of that KL", kl_names());
  b.field("kl_target", kl_target, "kl_coef is steered to this KL per rollout; 0 = off",
          Range::at_least(0));
  b.field("kl_horizon", kl_horizon, "rollouts over which it is steered", Range::at_least(1));
}

TokenAdvantages token_advantages(const AdvantageConfig& config, const RolloutSet& rollouts) {
  return token_advantages(config, rollouts, config.kl_coef);
}

TokenAdvantages token_advantages(const AdvantageConfig& config, const RolloutSet& rollouts,
                                 double kl_coef) {
  const size_t n = rollouts.reward.size();
  std::vector<double> reward = shaped_rewards(config, rollouts.reward);
  TokenAdvantages result;
  std::vector<uint8_t> failed(n);
  for (size_t i = 0; i < n; ++i) failed[i] = std::isfinite(reward[i]) ? 0 : 1;
  result.mask = without(rollouts.mask, rollouts.sequence, failed);

  Tensor kl;
  if (kl_coef > 0) {
    SLUICE_CHECK(rollouts.logprob.defined() && rollouts.reference.defined())
        << "KL in the reward needs old and reference log-probs";
    kl = kl_estimate(rollouts.logprob, rollouts.reference, config.kl_estimator).detach();
    const std::vector<double> sums = rollout_sums(kl, result.mask, rollouts.sequence, n);
    double valid = 0;
    for (size_t i = 0; i < n; ++i) {
      if (failed[i] != 0) continue;
      result.kl += sums[i];
      valid += 1;
      if (!has_token_rewards(config.rule)) reward[i] -= kl_coef * sums[i];
    }
    result.kl /= std::max(valid, 1.0);
  }

  const std::vector<double> length = rollout_sums(
      at::ones({rollouts.sequence.size(0)}, at::kDouble).to(rollouts.sequence.device()),
      result.mask, rollouts.sequence, n);
  const RewardSet set{reward, rollouts.group, length, rollouts.baseline};
  if (!has_token_rewards(config.rule)) {
    const RolloutAdvantages a = group_advantages(config.rule, set, config.epsilon);
    result.counts = a.counts;
    result.advantage = to_tokens(a.advantage, rollouts.sequence, at::kDouble);
    result.advantage = at::where(result.mask, result.advantage, at::zeros_like(result.advantage));
  } else {
    result.counts = count_groups(set);
    std::vector<double> terminal = reward;
    if (config.rule == AdvantageRule::ReMax) {
      const RolloutAdvantages a = group_advantages(config.rule, set);
      result.counts = a.counts;
      result.mask = without(result.mask, rollouts.sequence, inverted(a.valid));
      terminal = a.advantage;  // the baseline leaves every return of its rollout alike
    }
    for (size_t i = 0; i < n; ++i) {
      if (failed[i] != 0) terminal[i] = 0;
    }
    const Tensor r = token_rewards(terminal, kl, kl_coef, result.mask, rollouts.sequence);
    if (config.rule == AdvantageRule::Gae) {
      SLUICE_CHECK(rollouts.value.defined()) << "GAE needs the critic's values";
      Gae g = token_gae(r, rollouts.value, result.mask, rollouts.sequence, config.gamma,
                        config.lambda, rollouts.bootstrap);
      result.advantage = g.advantage;
      result.returns = g.returns;
    } else {
      const double gamma = config.rule == AdvantageRule::ReMax ? 1 : config.gamma;
      result.advantage = discounted_returns(r, result.mask, rollouts.sequence, gamma);
    }
  }
  if (config.whiten) result.advantage = whiten(result.advantage, result.mask);
  return result;
}

}  // namespace sluice
