#pragma once
#include "algorithms/llm/policy_loss_config.h"
#include "algorithms/ops/aggregate.h"

namespace sluice {

/// Per-token policy terms on selected rows [n], before correction and aggregation.
struct PolicyTerms {
  at::Tensor loss;         ///< with gradient
  at::Tensor ratio;        ///< what was clipped, without gradient
  at::Tensor clipped_low;  ///< bool; see PolicyStats
  at::Tensor clipped_high;
  at::Tensor dual_clipped;  ///< or undefined
};

/// The equations of PolicyLoss. `behaviour` is read by Dppo only, which takes `old` without it.
[[nodiscard]] PolicyTerms policy_terms(const PolicyLossConfig& config, const TokenRows& rows,
                                       const at::Tensor& logprob, const at::Tensor& old,
                                       const at::Tensor& behaviour, const at::Tensor& advantage);

}  // namespace sluice
