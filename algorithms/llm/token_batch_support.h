#pragma once
#include "algorithms/llm/policy_loss.h"

#include <vector>

namespace sluice {

/// For tests of losses: small batches in double, and what a loss makes of them.
struct LossProbe {
  std::vector<double> logprob, old, behaviour, reference, advantage, entropy;
  std::vector<int64_t> sequence;  ///< empty: one sequence
  std::vector<int64_t> mask;      ///< empty: all count
  int64_t max_length = 0;

  double total = 0;
  std::vector<double> gradient;  ///< by logprob
  PolicyStats stats;

  [[nodiscard]] TokenBatch batch() const;
  LossProbe& run(const PolicyLossConfig& config);
};

}  // namespace sluice
