#pragma once
#include "algorithms/llm/policy_loss_config.h"
#include "algorithms/ops/aggregate.h"

namespace sluice {

/// What a correction does to the policy term; no gradients.
struct Correction {
  at::Tensor weight;   ///< [n] or undefined: 1 everywhere
  at::Tensor keep;     ///< bool [n] or undefined: all
  at::Tensor clamped;  ///< bool [n] or undefined: none; weights cut to a bound
};

/// All inputs are selected rows [n]: current, old and behaviour log-probs, advantages. `behaviour`
/// must be defined when the rule or the geometric mask is on.
[[nodiscard]] Correction correct(const CorrectionConfig& config, const TokenRows& rows,
                                 const at::Tensor& current, const at::Tensor& old,
                                 const at::Tensor& behaviour, const at::Tensor& advantage);

}  // namespace sluice
