#include "algorithms/llm/policy_terms.h"

#include <ATen/ATen.h>

namespace sluice {
namespace {

using at::Tensor;

// exp() of more is useless, and of much more infinite, which no mask makes finite again.
constexpr double kLogBound = 20;

// max(-A rho, -A clip(rho)), for a ratio per token or per sequence.
PolicyTerms clipped(const PolicyLossConfig& config, const Tensor& ratio, const Tensor& advantage) {
  const double low = 1 - config.clip_low;
  const double high = 1 + config.clip_high;
  const Tensor r = ratio.detach();
  const Tensor negative = advantage < 0;
  PolicyTerms terms{at::maximum(-advantage * ratio, -advantage * ratio.clamp(low, high)),
                    r,
                    negative.logical_and(r < low),
                    (advantage > 0).logical_and(r > high),
                    {}};
  if (config.dual_clip > 0) {
    const Tensor bounded = at::minimum(terms.loss, -advantage * config.dual_clip);
    terms.loss = at::where(negative, bounded, terms.loss);
    terms.dual_clipped = negative.logical_and(r > config.dual_clip);
  }
  return terms;
}

PolicyTerms gmpo(const PolicyLossConfig& config, const TokenRows& rows, const Tensor& log_ratio,
                 const Tensor& advantage) {
  const Tensor cut = log_ratio.clamp(-config.clip_low, config.clip_high);
  // The smaller objective, as PPO's: for A < 0 that is the larger logarithm.
  const Tensor kept = at::where(advantage < 0, at::maximum(log_ratio, cut),
                                at::where(advantage > 0, at::minimum(log_ratio, cut), log_ratio));
  const Tensor ratio = rows.spread(rows.mean(kept).exp());
  const Tensor of_sequence = rows.spread(rows.mean(advantage));
  const Tensor l = log_ratio.detach();
  return {-of_sequence * ratio,
          l.exp(),
          (advantage < 0).logical_and(l < -config.clip_low),
          (advantage > 0).logical_and(l > config.clip_high),
          {}};
}

PolicyTerms cispo(const PolicyLossConfig& config, const Tensor& logprob, const Tensor& ratio,
                  const Tensor& advantage) {
  const bool absolute = config.clip_bound == ClipBound::Absolute;
  const double low = absolute ? 0 : 1 - config.clip_low;
  const double high = absolute ? config.clip_high : 1 + config.clip_high;
  const Tensor r = ratio.detach();
  return {-r.clamp(low, high) * advantage * logprob, r, r<low, r> high, {}};
}

PolicyTerms sapo(const PolicyLossConfig& config, const Tensor& ratio, const Tensor& advantage) {
  const Tensor tau = at::where(advantage > 0, at::full_like(advantage, config.sapo_tau_positive),
                               at::full_like(advantage, config.sapo_tau_negative));
  const Tensor gate = (4 / tau) * (tau * (ratio - 1)).sigmoid();
  const Tensor none = at::zeros_like(ratio, at::kBool);
  return {-advantage * gate, ratio.detach(), none, none, {}};
}

PolicyTerms dppo(const PolicyLossConfig& config, const Tensor& logprob, const Tensor& start,
                 const Tensor& advantage) {
  const Tensor change = (logprob.detach().exp() - start.exp());
  Tensor above = change > config.clip_high;
  Tensor below = change < -config.clip_low;
  if (!config.dppo_two_sided) {
    above = above.logical_and(advantage > 0);
    below = below.logical_and(advantage <= 0);
  }
  const Tensor log_ratio = logprob - start;
  const Tensor ratio = log_ratio.detach().clamp(-kLogBound, kLogBound).exp();
  const Tensor loss = -advantage * ratio.clamp_max(config.dppo_cap) * logprob;
  PolicyTerms terms{
      at::where(above.logical_or(below), at::zeros_like(loss), loss), ratio, below, above, {}};
  if (config.dppo_square > 0) {
    terms.loss = terms.loss + config.dppo_square * log_ratio.square();
  }
  return terms;
}

}  // namespace

PolicyTerms policy_terms(const PolicyLossConfig& config, const TokenRows& rows,
                         const Tensor& logprob, const Tensor& old, const Tensor& behaviour,
                         const Tensor& advantage) {
  const Tensor raw = logprob - old;
  const Tensor log_ratio = raw.clamp(-kLogBound, kLogBound);
  const Tensor ratio = log_ratio.exp();
  const Tensor none = at::zeros_like(advantage, at::kBool);
  switch (config.loss) {
    case PolicyLoss::Clip:
      return clipped(config, ratio, advantage);
    case PolicyLoss::Unclipped:
      return {-advantage * ratio, ratio.detach(), none, none, {}};
    case PolicyLoss::Reinforce:
      return {-advantage * logprob, ratio.detach(), none, none, {}};
    case PolicyLoss::Gspo: {
      // The value of the sequence's ratio with the gradient of the token's: per sequence the
      // gradients are those of the ratio itself when token means are taken.
      const Tensor mean = rows.spread(rows.mean(raw.detach()));
      const Tensor log_s = (logprob - logprob.detach() + mean).clamp_max(10);
      PolicyLossConfig single = config;
      single.dual_clip = 0;
      return clipped(single, log_s.exp(), advantage);
    }
    case PolicyLoss::Gmpo:
      return gmpo(config, rows, log_ratio, advantage);
    case PolicyLoss::Cispo:
      return cispo(config, logprob, ratio, advantage);
    case PolicyLoss::Sapo:
      return sapo(config, ratio, advantage);
    case PolicyLoss::Dppo:
      return dppo(config, logprob, behaviour.defined() ? behaviour : old, advantage);
    case PolicyLoss::Dro:
      return {-(advantage * logprob - 0.5 * config.dro_beta * raw.square()),
              ratio.detach(),
              none,
              none,
              {}};
  }
  return {};
}

}  // namespace sluice
