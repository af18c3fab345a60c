#pragma once
#include "algorithms/llm/policy_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

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

  [[nodiscard]] TokenBatch batch() const {
    const auto column = [](const std::vector<double>& v) {
      return v.empty() ? at::Tensor() : at::tensor(v, at::TensorOptions(at::kDouble));
    };
    TokenBatch b;
    b.logprob = column(logprob).requires_grad_(true);
    b.old_logprob = column(old);
    b.behaviour_logprob = column(behaviour);
    b.reference_logprob = column(reference);
    b.advantage = column(advantage);
    b.entropy = column(entropy);
    b.sequence = sequence.empty() ? at::zeros_like(b.logprob, at::kLong)
                                  : at::tensor(sequence, at::TensorOptions(at::kLong));
    if (!mask.empty()) b.mask = at::tensor(mask, at::TensorOptions(at::kLong)).to(at::kBool);
    return b;
  }

  LossProbe& run(const PolicyLossConfig& config) {
    const TokenBatch b = batch();
    const TokenLoss loss = policy_loss(config, b, count_tokens(b.mask, b.sequence, max_length));
    total = loss.total.item<double>();
    stats = loss.stats;
    const at::Tensor g = torch::autograd::grad({loss.total}, {b.logprob})[0].contiguous();
    gradient.assign(g.data_ptr<double>(), g.data_ptr<double>() + g.numel());
    return *this;
  }
};

}  // namespace sluice
