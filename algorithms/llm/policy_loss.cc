#include "algorithms/llm/policy_loss.h"

#include "algorithms/llm/correction.h"
#include "algorithms/llm/policy_terms.h"
#include "algorithms/ops/kl.h"
#include "dataflow/base/result.h"

#include <ATen/ATen.h>

namespace sluice {
namespace {

using at::Tensor;

// Scalars on whatever device, read back in one copy.
class Readback {
 public:
  void add(double& target, const Tensor& scalar) {
    targets_.push_back(&target);
    values_.push_back(scalar.detach().to(at::kDouble));
  }
  void add_sum(double& target, const Tensor& values) {
    if (values.defined()) add(target, values.sum());
  }
  void add_max(double& target, const Tensor& values) {
    if (values.numel() > 0) add(target, values.max());
  }
  void read() {
    if (values_.empty()) return;
    const Tensor all = at::stack(values_).cpu();
    const double* values = all.data_ptr<double>();
    for (size_t i = 0; i < targets_.size(); ++i) *targets_[i] = values[i];
  }

 private:
  std::vector<double*> targets_;
  std::vector<Tensor> values_;
};

struct Selected {
  TokenRows rows;
  Tensor logprob, old, behaviour, reference, advantage, entropy;

  explicit Selected(const TokenBatch& b) : rows(b.mask, b.sequence) {
    SLUICE_CHECK(b.logprob.defined() && b.advantage.defined())
        << "a policy loss needs logprob and advantage";
    logprob = take(b.logprob, b, "logprob");
    advantage = constant(b.advantage, b, "advantage");
    old = b.old_logprob.defined() ? constant(b.old_logprob, b, "old_logprob") : logprob.detach();
    behaviour = constant(b.behaviour_logprob, b, "behaviour_logprob");
    reference = constant(b.reference_logprob, b, "reference_logprob");
    entropy = take(b.entropy, b, "entropy");
  }

 private:
  Tensor take(const Tensor& values, const TokenBatch& b, const char* name) const {
    if (values.defined()) {
      SLUICE_CHECK(values.sizes() == b.sequence.sizes())
          << name << " has another shape than sequence";
    }
    return rows.select(values);
  }
  Tensor constant(const Tensor& values, const TokenBatch& b, const char* name) const {
    const Tensor selected = take(values, b, name);
    return selected.defined() ? selected.detach().to(b.logprob.options()) : selected;
  }
};

void measure(const Selected& in, const PolicyTerms& terms, const Correction& correction,
             PolicyStats& stats, Readback& readback) {
  const Tensor current = in.logprob.detach();
  readback.add_sum(stats.advantage, in.advantage);
  readback.add_sum(stats.ratio, terms.ratio);
  readback.add_max(stats.ratio_max, terms.ratio);
  readback.add_sum(stats.clipped_low, terms.clipped_low);
  readback.add_sum(stats.clipped_high, terms.clipped_high);
  readback.add_sum(stats.dual_clipped, terms.dual_clipped);
  readback.add_sum(stats.approx_kl, kl_estimate(in.old, current, KlEstimator::K3));
  if (in.reference.defined()) {
    readback.add_sum(stats.reference_kl, kl_estimate(current, in.reference, KlEstimator::K3));
  }
  readback.add_sum(stats.entropy, in.entropy);
  readback.add_sum(stats.weight_clamped, correction.clamped);
  if (correction.keep.defined()) readback.add_sum(stats.dropped, correction.keep.logical_not());
  if (correction.weight.defined()) {
    readback.add_sum(stats.weight, correction.weight);
  } else {
    stats.weight = stats.tokens;
  }
  if (in.behaviour.defined()) {
    const Tensor gap = (in.old - in.behaviour).abs();
    readback.add_sum(stats.gap, gap);
    readback.add_max(stats.gap_max, gap);
    readback.add_sum(stats.gap_kl, kl_estimate(in.behaviour, in.old, KlEstimator::K3));
  }
}

}  // namespace

TokenLoss policy_loss(const PolicyLossConfig& config, const TokenBatch& batch,
                      const Denominator& denominator) {
  const Selected in(batch);
  const TokenRows& rows = in.rows;
  const PolicyTerms terms =
      policy_terms(config, rows, in.logprob, in.old, in.behaviour, in.advantage);
  const Correction correction =
      correct(config.correction, rows, in.logprob, in.old, in.behaviour, in.advantage);
  Tensor policy = terms.loss;
  if (correction.weight.defined()) {
    Tensor weight = correction.weight;
    if (config.loss == PolicyLoss::Gmpo) {
      // One loss per sequence, so one weight: the geometric mean too, of the tokens that are kept.
      const Tensor logs = weight.log();
      weight = rows.spread(rows.mean(correction.keep.defined()
                                         ? at::where(correction.keep, logs, at::zeros_like(logs))
                                         : logs)
                               .exp());
    }
    policy = policy * weight;
  }
  if (correction.keep.defined()) {
    policy = at::where(correction.keep, policy, at::zeros_like(policy));
  }
  TokenLoss result;
  PolicyStats& stats = result.stats;
  stats.tokens = static_cast<double>(rows.tokens());
  stats.sequences = static_cast<double>(rows.sequences());
  Readback readback;
  result.total = rows.reduce(policy, config.aggregation, denominator);
  readback.add(stats.policy_loss, result.total);
  if (config.kl_coef > 0) {
    SLUICE_CHECK(in.reference.defined()) << "kl_coef > 0 needs reference log-probs";
    const Tensor kl = kl_estimate(in.logprob, in.reference, config.kl_estimator);
    const Tensor term = config.kl_coef * rows.reduce(kl, config.aggregation, denominator);
    readback.add(stats.kl_loss, term);
    result.total = result.total + term;
  }
  if (config.entropy_coef != 0) {
    SLUICE_CHECK(in.entropy.defined()) << "entropy_coef needs the entropy of each token";
    const Tensor term =
        -config.entropy_coef * rows.reduce(in.entropy, config.aggregation, denominator);
    readback.add(stats.entropy_loss, term);
    result.total = result.total + term;
  }
  measure(in, terms, correction, stats, readback);
  readback.read();
  return result;
}

at::Tensor log_linear_proximal(const at::Tensor& behaviour_logprob,
                               const at::Tensor& current_logprob,
                               const at::Tensor& behaviour_version, int64_t current_version) {
  const Tensor age = (current_version - behaviour_version).to(behaviour_logprob.scalar_type());
  const Tensor alpha = (age - 1) / age.clamp_min(1);
  const Tensor between = behaviour_logprob + alpha * (current_logprob.detach() - behaviour_logprob);
  return at::where(age > 0, between, behaviour_logprob);
}

}  // namespace sluice
