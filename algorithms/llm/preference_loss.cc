#include "algorithms/llm/preference_loss.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using at::Tensor;

// log(1 - e^x) for x < 0, by the form that keeps digits on each side of log(1/2).
Tensor log1mexp(const Tensor& x) {
  const Tensor near = x > -std::log(2.0);
  // Each branch sees an argument that it is finite on, so that the other's gradient is not NaN.
  const Tensor a = at::where(near, x, at::full_like(x, -0.5)).clamp_max(-1e-9);
  const Tensor b = at::where(near, at::full_like(x, -1.0), x);
  return at::where(near, (-at::expm1(a)).log(), at::log1p(-b.exp()));
}

double double_sum(const Tensor& values) {
  return values.detach().to(at::kDouble).sum().item<double>();
}

PreferenceResult finish(const Tensor& losses, int64_t total_count) {
  PreferenceResult result;
  result.total = losses.sum() / static_cast<double>(std::max<int64_t>(total_count, 1));
  result.stats.count = static_cast<double>(losses.numel());
  result.stats.loss = double_sum(result.total);
  return result;
}

}  // namespace

void PreferenceConfig::bind(ConfigBinder& b) {
  b.field(
      "loss", loss, "the loss on pairs",
      {{"dpo", PreferenceLoss::Dpo}, {"ipo", PreferenceLoss::Ipo}, {"orpo", PreferenceLoss::Orpo}});
  b.field("beta", beta, "strength of the pull to the reference; orpo: of the odds ratio",
          Range::between(1e-9, 1e6));
  b.field("label_smoothing", label_smoothing, "probability that a label is wrong (cDPO)",
          Range::between(0, 0.499));
  b.field("kto_desirable", kto_desirable, "kto: weight of good answers", Range::at_least(0));
  b.field("kto_undesirable", kto_undesirable, "kto: weight of bad answers", Range::at_least(0));
}

void PreferenceStats::add(const PreferenceStats& other) noexcept {
  count += other.count;
  loss += other.loss;
  correct += other.correct;
  margin += other.margin;
  chosen_reward += other.chosen_reward;
  rejected_reward += other.rejected_reward;
}

PreferenceResult preference_loss(const PreferenceConfig& config, const PreferencePairs& pairs,
                                 int64_t total_count) {
  const bool orpo = config.loss == PreferenceLoss::Orpo;
  if (!orpo) {
    SLUICE_CHECK(pairs.reference_chosen.defined() && pairs.reference_rejected.defined())
        << "this preference loss needs reference log-probs";
  }
  if (config.loss != PreferenceLoss::Dpo) {
    SLUICE_CHECK(pairs.chosen_length.defined() && pairs.rejected_length.defined())
        << "this preference loss needs the answers' lengths";
  }
  const Tensor chosen = orpo ? pairs.chosen : pairs.chosen - pairs.reference_chosen.detach();
  const Tensor rejected =
      orpo ? pairs.rejected : pairs.rejected - pairs.reference_rejected.detach();
  Tensor losses;
  Tensor margin = config.beta * (chosen - rejected);
  switch (config.loss) {
    case PreferenceLoss::Dpo:
      losses = -(1 - config.label_smoothing) * at::log_sigmoid(margin) -
               config.label_smoothing * at::log_sigmoid(-margin);
      break;
    case PreferenceLoss::Ipo:
      losses = (chosen / pairs.chosen_length.clamp_min(1) -
                rejected / pairs.rejected_length.clamp_min(1) - 1 / (2 * config.beta))
                   .square();
      break;
    case PreferenceLoss::Orpo: {
      const Tensor w = chosen / pairs.chosen_length.clamp_min(1);
      const Tensor l = rejected / pairs.rejected_length.clamp_min(1);
      margin = (w - l) - (log1mexp(w) - log1mexp(l));
      losses = -w - config.beta * at::log_sigmoid(margin);
      break;
    }
  }
  PreferenceResult result = finish(losses, total_count);
  result.stats.correct = double_sum(margin > 0);
  result.stats.margin = double_sum(margin);
  result.stats.chosen_reward = config.beta * double_sum(chosen);
  result.stats.rejected_reward = config.beta * double_sum(rejected);
  return result;
}

PreferenceResult kto_loss(const PreferenceConfig& config, const Tensor& logprob,
                          const Tensor& reference, const Tensor& desirable, double kl,
                          int64_t total_count) {
  const double point = std::max(kl, 0.0);
  const Tensor h = logprob - reference.detach();
  const Tensor gain = config.beta * (h - point);
  const Tensor losses = at::where(desirable, config.kto_desirable * (1 - gain.sigmoid()),
                                  config.kto_undesirable * (1 - (-gain).sigmoid()));
  PreferenceResult result = finish(losses, total_count);
  const Tensor reward = config.beta * h.detach();
  const Tensor none = at::zeros_like(reward);
  result.stats.correct = double_sum(desirable.eq(gain > 0));
  result.stats.chosen_reward = double_sum(at::where(desirable, reward, none));
  result.stats.rejected_reward = double_sum(at::where(desirable, none, reward));
  return result;
}

PreferenceResult bradley_terry_loss(const Tensor& chosen, const Tensor& rejected,
                                    const Tensor& margin, double centre, int64_t total_count) {
  const Tensor difference = chosen - rejected;
  Tensor losses = -at::log_sigmoid(margin.defined() ? difference - margin.detach() : difference);
  if (centre > 0) losses = losses + centre * (chosen + rejected).square();
  PreferenceResult result = finish(losses, total_count);
  result.stats.correct = double_sum(difference > 0);
  result.stats.margin = double_sum(difference);
  result.stats.chosen_reward = double_sum(chosen);
  result.stats.rejected_reward = double_sum(rejected);
  return result;
}

}  // namespace sluice
