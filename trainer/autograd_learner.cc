#include "trainer/autograd_learner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace sluice {

AutogradLearner::AutogradLearner(ActorCritic& net, Algorithm& algorithm, const UpdateConfig& config,
                                 RandomKey key, double target_kl)
    : net_(net),
      algorithm_(algorithm),
      config_(config),
      key_(key),
      target_kl_(target_kl),
      adam_(net.parameters().size(), config.adam, net.isa()) {}

Status AutogradLearner::begin(const LearnBatch& batch, double learning_rate) {
  const ActorCriticSpec& spec = net_.spec();
  RETURN_IF_ERROR(check_batch(batch, spec, config_.minibatches));
  // from_blob wants a mutable pointer; the clone makes the column ours.
  const auto column = [&](const auto* data, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(const_cast<void*>(static_cast<const void*>(data)), shape, type).clone();
  };
  TensorMap map;
  map.set("obs", column(batch.observation, {batch.rows, spec.observation}, at::kFloat));
  map.set("action", spec.head.discrete()
                        ? column(batch.choice, {batch.rows}, at::kLong)
                        : column(batch.action, {batch.rows, spec.head.size}, at::kFloat));
  map.set("log_prob", column(batch.log_prob, {batch.rows}, at::kFloat));
  map.set("value", column(batch.value, {batch.rows}, at::kFloat));
  map.set("advantage", column(batch.advantage, {batch.rows}, at::kFloat));
  map.set("return", column(batch.returns, {batch.rows}, at::kFloat));
  return begin(std::move(map), learning_rate);
}

Status AutogradLearner::begin(TensorMap batch, double learning_rate) {
  algorithm_.prepare(batch);
  if (!batch.has("obs")) return invalid_argument("the batch has no observations");
  const int64_t rows = batch.at("obs").size(0);
  if (rows < 1 || rows % config_.minibatches != 0) {
    return invalid_argument("a batch of {} rows does not divide into {} minibatches", rows,
                            config_.minibatches);
  }
  for (const auto& [name, tensor] : batch.entries()) {
    if (tensor.dim() < 1 || tensor.size(0) != rows) {
      return invalid_argument("column '{}' does not have {} rows", name, rows);
    }
  }
  batch_ = std::move(batch);
  rows_ = rows;
  order_.resize(static_cast<size_t>(rows));
  ++update_;
  next_ = 0;
  total_ = config_.epochs * config_.minibatches;
  learning_rate_ = learning_rate;
  sums_.clear();
  norm_sum_ = 0;
  done_ = 0;
  stopped_ = false;
  return {};
}

bool AutogradLearner::step() {
  if (next_ >= total_) return false;
  const int64_t size = rows_ / config_.minibatches;
  const int64_t place = next_ % config_.minibatches;
  if (place == 0) epoch_order(key_, update_ - 1, next_ / config_.minibatches, rows_, order_.data());
  ++next_;
  const at::Tensor index = at::from_blob(order_.data() + place * size, {size}, at::kLong);
  TensorMap minibatch;
  for (const auto& [name, tensor] : batch_.entries())
    minibatch.set(name, tensor.index_select(0, index));

  std::vector<at::Tensor> parameters;
  for (const at::Tensor& view : net_.parameters().views()) {
    parameters.push_back(view.detach().requires_grad_(true));
  }
  const ActorCriticOutputs net =
      ActorCritic::forward_autograd(net_.spec(), minibatch.at("obs"), parameters);
  TensorMap outputs;
  outputs.set(net_.spec().head.discrete() ? "logits" : "mean", net.head);
  if (net.log_std.defined()) outputs.set("log_std", net.log_std);
  outputs.set("value", net.value);
  const Loss loss = algorithm_.loss(outputs, minibatch);

  ++done_;
  double kl = 0;
  for (const auto& [name, value] : loss.stats) {
    if (name == "approx_kl") kl = value;
    const auto at = std::find_if(sums_.begin(), sums_.end(),
                                 [&, &key = name](const auto& s) { return s.first == key; });
    if (at == sums_.end()) {
      sums_.emplace_back(name, value);
    } else {
      at->second += value;
    }
  }
  if (target_kl_ > 0 && kl > 1.5 * target_kl_) {
    stopped_ = true;
    next_ = total_;
    return false;
  }
  // A parameter that the loss does not touch has no gradient: it gets zeros.
  const auto grads = torch::autograd::grad({loss.total}, parameters, {}, false, false, true);
  ParameterSet gradient = net_.parameters().zeros_like();
  const auto views = gradient.views();
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined()) views[i].copy_(grads[i]);
  }
  const double norm = global_norm(gradient.data(), gradient.size());
  norm_sum_ += norm;
  adam_.step(net_.parameters().data(), gradient.data(), learning_rate_,
             clip_factor(norm, config_.max_grad_norm));
  net_.sync();
  return next_ < total_;
}

Learner::Stats AutogradLearner::stats() const {
  Stats result;
  const auto n = static_cast<double>(std::max<int64_t>(done_, 1));
  for (const auto& [name, sum] : sums_) result.emplace_back(name, sum / n);
  result.emplace_back("grad_norm", norm_sum_ / n);
  result.emplace_back("minibatches", static_cast<double>(done_));
  result.emplace_back("stopped_early", stopped_ ? 1.0 : 0.0);
  return result;
}

std::string AutogradLearner::save() const {
  return save_learner(net_.parameters(), adam_, update_);
}

Status AutogradLearner::load(std::string_view bytes) {
  RETURN_IF_ERROR(load_learner(bytes, net_.parameters(), adam_, update_));
  net_.sync();
  next_ = total_ = 0;
  return {};
}

}  // namespace sluice
