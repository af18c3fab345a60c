#include "algorithms/ppo.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace sluice {
namespace {

struct Policy {
  at::Tensor log_prob;  // [N]
  at::Tensor entropy;   // [N]
};

Policy evaluate(const TensorMap& outputs, const at::Tensor& action) {
  if (outputs.has("logits")) {
    const at::Tensor log_p = outputs.at("logits").log_softmax(-1);  // [N, A]
    return {log_p.gather(1, action.to(at::kLong).unsqueeze(1)).squeeze(1),
            -(log_p.exp() * log_p).sum(-1)};
  }
  const at::Tensor& mean = outputs.at("mean");  // [N, D]
  const at::Tensor& log_std = outputs.at("log_std");
  const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);
  const at::Tensor z = (action - mean) * (-log_std).exp();
  return {(-0.5 * z.square() - log_std - half_log_two_pi).sum(-1),
          (log_std + half_log_two_pi + 0.5).sum(-1).expand({mean.size(0)})};
}

}  // namespace

bool kl_stop(const PpoConfig& config, double approx_kl) noexcept {
  return config.target_kl > 0 && approx_kl > 1.5 * config.target_kl;
}

double annealed_rate(const PpoConfig& config, int64_t i, int64_t iterations) noexcept {
  if (!config.anneal || iterations <= 0) return config.learning_rate;
  return config.learning_rate * (1.0 - static_cast<double>(i) / static_cast<double>(iterations));
}

Loss ppo_loss(const PpoConfig& config, const TensorMap& outputs, const TensorMap& minibatch,
              double denominator) {
  const Policy policy = evaluate(outputs, minibatch.at("action"));
  at::Tensor advantage = minibatch.at("advantage");
  at::Tensor mask;
  if (minibatch.has("mask")) mask = minibatch.at("mask").to(at::kBool);
  if (config.normalise_advantage) {
    const at::Tensor counted = mask.defined() ? advantage.masked_select(mask) : advantage;
    const at::Tensor floats = counted.detach().to(at::kFloat).contiguous();
    const Moments m = moments(floats.data_ptr<float>(), floats.numel());
    advantage = (advantage - m.mean) * m.inverse_std;
  }
  const auto rows =
      static_cast<double>(mask.defined() ? mask.sum().item<int64_t>() : advantage.numel());
  if (denominator <= 0) denominator = rows;
  // A masked row is selected away, so that whatever it holds (even NaN) leaves no trace.
  const auto total = [&](const at::Tensor& x) {
    return (mask.defined() ? x.masked_select(mask) : x).sum() / denominator;
  };
  const at::Tensor log_ratio = policy.log_prob - minibatch.at("log_prob");
  const at::Tensor ratio = log_ratio.exp();
  const at::Tensor bounded = ratio.clamp(1 - config.clip, 1 + config.clip);
  const at::Tensor policy_loss = total(-at::minimum(ratio * advantage, bounded * advantage));

  const at::Tensor& value = outputs.at("value");
  const at::Tensor& target = minibatch.at("return");
  at::Tensor square = (value - target).square();
  if (config.value_clip > 0) {
    const at::Tensor& old = minibatch.at("value");
    const at::Tensor kept = (value - old).clamp(-config.value_clip, config.value_clip);
    square = at::maximum(square, (old + kept - target).square());
  }
  const at::Tensor value_loss = total(0.5 * square);
  const at::Tensor entropy = total(policy.entropy);

  Loss loss;
  loss.total = policy_loss - config.entropy_coef * entropy + config.value_coef * value_loss;
  const auto number = [](const at::Tensor& x) { return x.detach().item<double>(); };
  const at::Tensor r = ratio.detach();
  loss.stats = {
      {"policy_loss", number(policy_loss)},
      {"value_loss", number(value_loss)},
      {"entropy", number(entropy)},
      {"approx_kl", number(total(r - 1 - log_ratio.detach()))},
      {"clip_fraction", number(total(((r - 1).abs() > config.clip).to(r.scalar_type())))}};
  return loss;
}

void PpoSums::add(const PpoSums& other) noexcept {
  policy += other.policy;
  value += other.value;
  entropy += other.entropy;
  kl += other.kl;
  clipped += other.clipped;
}

PpoSums ppo_loss_grad(const PpoConfig& config, const PpoRows& rows, double denominator,
                      const PpoGrads& grads, Isa isa) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const internal::PpoPass pass{f(1 - config.clip),
                               f(1 + config.clip),
                               f(config.value_clip),
                               f(config.entropy_coef / denominator),
                               f(config.value_coef / denominator),
                               f(1 / denominator)};
  internal::PpoKernel kernel = internal::kPpoPlain;
#if defined(__x86_64__)
  if (isa == Isa::Avx2) kernel = internal::kPpoAvx2;
  if (isa == Isa::Avx512) kernel = internal::kPpoAvx512;
#endif
  return kernel(pass, rows, grads);
}

}  // namespace sluice
