#include "algorithms/llm/token_batch_support.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace sluice {

TokenBatch LossProbe::batch() const {
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

LossProbe& LossProbe::run(const PolicyLossConfig& config) {
  const TokenBatch b = batch();
  const TokenLoss loss = policy_loss(config, b, count_tokens(b.mask, b.sequence, max_length));
  total = loss.total.item<double>();
  stats = loss.stats;
  const at::Tensor g = torch::autograd::grad({loss.total}, {b.logprob})[0].contiguous();
  gradient.assign(g.data_ptr<double>(), g.data_ptr<double>() + g.numel());
  return *this;
}

}  // namespace sluice
