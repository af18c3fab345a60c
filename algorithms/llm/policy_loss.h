#pragma once
#include "algorithms/llm/policy_loss_config.h"
#include "algorithms/ops/aggregate.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// A packed micro-batch: T token rows of whole rollouts. Only rows that `mask` selects are read.
struct TokenBatch {
  at::Tensor logprob;            ///< [T] current policy, with gradient
  at::Tensor old_logprob;        ///< [T] proximal policy; undefined: logprob itself (rho = 1)
  at::Tensor behaviour_logprob;  ///< [T] from the engine, of the distribution it sampled from
  at::Tensor reference_logprob;  ///< [T]
  at::Tensor advantage;          ///< [T]
  at::Tensor mask;               ///< bool [T]; undefined: all rows count
  at::Tensor sequence;           ///< int64 [T] rollout of each token, equal ones adjacent
  at::Tensor entropy;            ///< [T] with gradient, or undefined
};

/// Sums over tokens: those of micro-batches add up, and means() divides them at the end.
struct PolicyStats {
  double tokens = 0;
  double sequences = 0;
  double policy_loss = 0;   ///< parts of the total, divided by the update's denominator
  double kl_loss = 0;       ///< with kl_coef
  double entropy_loss = 0;  ///< with -entropy_coef
  double advantage = 0;
  double ratio = 0;         ///< rho
  double ratio_max = 0;     ///< largest, not a sum
  double clipped_low = 0;   ///< tokens whose gradient the lower bound stopped (A < 0)
  double clipped_high = 0;  ///< and the upper bound (A > 0); Cispo: weights that were cut
  double dual_clipped = 0;  ///< and the dual clip
  double approx_kl = 0;     ///< k3 of the old policy against the current one
  double reference_kl = 0;  ///< k3 of the current policy against the reference
  double entropy = 0;
  double weight = 0;          ///< correction weights
  double weight_clamped = 0;  ///< tokens whose weight was cut to a bound
  double dropped = 0;         ///< tokens a correction left out
  double gap = 0;             ///< |lo - lb|: trainer against engine
  double gap_max = 0;         ///< largest, not a sum
  double gap_kl = 0;          ///< k3 of the engine against the trainer

  void add(const PolicyStats& other) noexcept;
  /// For reports, by name: means over tokens, losses as they are.
  [[nodiscard]] std::vector<std::pair<std::string, double>> means() const;
};

struct TokenLoss {
  at::Tensor total;   ///< scalar with gradient, already divided: micro-batches add up
  PolicyStats stats;  ///< of this micro-batch
};

/// The loss of one micro-batch. `denominator` counts all micro-batches of the update, before any
/// token is dropped. When no token counts the total is 0 (with a gradient of 0): the caller skips
/// the step if that is so for the whole update, which denominator.tokens == 0 says.
/// The log ratio is taken within +-20 (Gspo: at most 10).
[[nodiscard]] TokenLoss policy_loss(const PolicyLossConfig& config, const TokenBatch& batch,
                                    const Denominator& denominator);

/// Proximal log-probs without a forward pass (AReaL's log-linear interpolation): lb + alpha
/// (lp - lb) with alpha = (v_prox - v_b) / (v_now - v_b) and v_prox = v_now - 1; where v_b >= v_now
/// alpha has no meaning and it is lb. Versions are trainer steps, `behaviour_version` int64 [T].
[[nodiscard]] at::Tensor log_linear_proximal(const at::Tensor& behaviour_logprob,
                                             const at::Tensor& current_logprob,
                                             const at::Tensor& behaviour_version,
                                             int64_t current_version);

}  // namespace sluice
