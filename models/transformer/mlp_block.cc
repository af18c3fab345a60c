#include "models/transformer/blocks.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

namespace sluice {

MlpBlock::MlpBlock(const TransformerConfig& config, const Parameters& parameters,
                   const std::string& at)
    : activation_(config.activation), gated_(config.gated_mlp) {
  if (gated_) in_.push_back(linear_at(parameters, at + ".gate_proj"));
  in_.push_back(linear_at(parameters, at + ".up_proj"));
  down_ = linear_at(parameters, at + ".down_proj");
}

at::Tensor MlpBlock::forward(const at::Tensor& x, const LinearOp& linear) const {
  if (gated_) {
    return linear.apply(down_, gated_activation(activation_, linear.apply_group(in_, x)));
  }
  return linear.apply(down_, activate(activation_, linear.apply(in_.front(), x)));
}

Routing route(const ExpertConfig& config, const at::Tensor& scores) {
  const at::Tensor wide = scores.to(at::toOpMathType(scores.scalar_type()));
  const at::Tensor ranked = config.softmax_before_topk ? at::softmax(wide, -1) : wide;
  auto [weights, experts] = at::topk(ranked, config.per_token, -1);
  if (!config.softmax_before_topk) {
    weights = at::softmax(weights, -1);
  } else if (config.normalise_topk) {
    weights = weights / weights.sum(-1, true);
  }
  return {experts, weights};
}

ExpertsBlock::ExpertsBlock(const TransformerConfig& config, const Parameters& parameters,
                           const std::string& at)
    : config_(config.experts), router_(linear_at(parameters, at + ".gate")) {
  for (int64_t e = 0; e < config_.count; ++e) {
    experts_.emplace_back(config, parameters, fmt::format("{}.experts.{}", at, e));
  }
  if (config_.shared_intermediate_size > 0) {
    shared_.emplace_back(config, parameters, at + ".shared_expert");
    shared_gate_ = linear_at(parameters, at + ".shared_expert_gate");
  }
}

at::Tensor ExpertsBlock::forward(const at::Tensor& x, const LinearOp& linear) const {
  const Routing routing = route(config_, linear.apply(router_, x));
  const at::Tensor weights = routing.weights.to(x.scalar_type()).flatten();
  // The (token, choice) pairs in the order of their experts: one gather, one slice per expert.
  const std::optional<bool> stable = true;
  const at::Tensor order = std::get<1>(at::sort(routing.experts.flatten(), stable, 0, false));
  const at::Tensor counts =
      at::bincount(routing.experts.flatten(), {}, config_.count).to(at::kCPU).contiguous();
  const at::Tensor tokens = at::floor_divide(order, config_.per_token);
  const at::Tensor inputs = x.index_select(0, tokens);
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (int64_t e = 0; e < config_.count; ++e) {
    const int64_t n = counts.data_ptr<int64_t>()[e];
    if (n == 0) continue;
    outputs.push_back(experts_[static_cast<size_t>(e)].forward(inputs.narrow(0, begin, n), linear));
    begin += n;
  }
  at::Tensor out = at::zeros_like(x);
  if (!outputs.empty()) {
    const at::Tensor scaled = at::cat(outputs) * weights.index_select(0, order).unsqueeze(1);
    out = out.index_add(0, tokens, scaled);
  }
  if (shared_.empty()) return out;
  return out + at::sigmoid(linear.apply(shared_gate_, x)) * shared_.front().forward(x, linear);
}

}  // namespace sluice
