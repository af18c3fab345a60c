#include "algorithms/llm/policy_loss_config.h"

#include <cmath>
#include <limits>

namespace sluice {

const std::vector<std::pair<std::string, Aggregation>>& aggregation_names() {
  static const std::vector<std::pair<std::string, Aggregation>> kNames{
      {"token-mean", Aggregation::TokenMean},
      {"seq-mean-token-mean", Aggregation::SequenceMeanTokenMean},
      {"seq-mean-token-sum", Aggregation::SequenceMeanTokenSum},
      {"seq-mean-token-sum-norm", Aggregation::SequenceMeanTokenScale}};
  return kNames;
}

const std::vector<std::pair<std::string, KlEstimator>>& kl_names() {
  static const std::vector<std::pair<std::string, KlEstimator>> kNames{
      {"k1", KlEstimator::K1}, {"abs", KlEstimator::Abs},    {"k2", KlEstimator::K2},
      {"k3", KlEstimator::K3}, {"k1+", KlEstimator::K1Plus}, {"k3+", KlEstimator::K3Plus}};
  return kNames;
}

double CorrectionConfig::lower() const noexcept {
  if (low >= 0) return low;
  return rule == CorrectionRule::IcePop ? 0.5 : 0;
}

double CorrectionConfig::upper() const noexcept {
  if (high >= 0) return high;
  switch (rule) {
    case CorrectionRule::None:
      return std::numeric_limits<double>::infinity();
    case CorrectionRule::Tis:
      return 2;
    case CorrectionRule::Mis:
      return 3;
    default:
      return 5;
  }
}

void CorrectionConfig::bind(ConfigBinder& b) {
  b.field("rule", rule, "how the gap between engine and trainer log-probs is corrected",
          {{"none", CorrectionRule::None},
           {"tis", CorrectionRule::Tis},
           {"sequence-tis", CorrectionRule::SequenceTis},
           {"icepop", CorrectionRule::IcePop},
           {"mis", CorrectionRule::Mis},
           {"decoupled", CorrectionRule::Decoupled}});
  b.field("low", low, "lower bound of the weight; -1 = the rule's own", Range::between(-1, 1));
  b.field("high", high, "upper bound of the weight; -1 = the rule's own", Range::at_least(-1));
  b.field("geometric_low", geometric_low,
          "sequences whose geometric mean of the weight is lower are left out",
          Range::between(0, 1));
  b.field("geometric_high", geometric_high, "or higher; 0 = off", Range::at_least(0));
  b.field("opsm_delta", opsm_delta,
          "sequences with a negative advantage that drifted further are left out; 0 = off",
          Range::at_least(0));
}

void PolicyLossConfig::bind(ConfigBinder& b) {
  b.field("loss", loss, "the policy loss",
          {{"clip", PolicyLoss::Clip},
           {"unclipped", PolicyLoss::Unclipped},
           {"reinforce", PolicyLoss::Reinforce},
           {"gspo", PolicyLoss::Gspo},
           {"gmpo", PolicyLoss::Gmpo},
           {"cispo", PolicyLoss::Cispo},
           {"sapo", PolicyLoss::Sapo},
           {"dppo", PolicyLoss::Dppo},
           {"dro", PolicyLoss::Dro}});
  b.field("aggregation", aggregation, "what token losses are divided by", aggregation_names());
  b.field("clip_low", clip_low,
          "the ratio's range below 1 (gmpo: of its logarithm; dppo: of the "
          "probability)",
          Range::between(0, 10));
  b.field("clip_high", clip_high, "the ratio's range above 1; see clip_bound for cispo",
          Range::between(0, 1000));
  b.field("dual_clip", dual_clip, "bound of the ratio where the advantage is negative; 0 = off",
          Range::between(0, 1e6));
  b.field("clip_bound", clip_bound,
          "cispo: is clip_high the distance from 1 or the largest weight itself",
          {{"relative", ClipBound::Relative}, {"absolute", ClipBound::Absolute}});
  b.field("sapo_tau_positive", sapo_tau_positive, "sapo's temperature where the advantage is > 0",
          Range::between(1e-3, 1e3));
  b.field("sapo_tau_negative", sapo_tau_negative, "and elsewhere", Range::between(1e-3, 1e3));
  b.field("dppo_two_sided", dppo_two_sided, "dppo: mask changes in both directions");
  b.field("dppo_cap", dppo_cap, "dppo: bound of the ratio", Range::between(1, 1e9));
  b.field("dppo_square", dppo_square, "dppo: weight of the squared log ratio", Range::at_least(0));
  b.field("dro_beta", dro_beta, "dro: weight of the squared log ratio", Range::between(1e-9, 1e6));
  b.field("entropy_coef", entropy_coef, "weight of the entropy bonus", Range::between(-10, 10));
  b.field("kl_estimator", kl_estimator, "estimator of the KL to the reference in the loss",
          kl_names());
  b.field("kl_coef", kl_coef, "weight of the KL to the reference in the loss; 0 = off",
          Range::at_least(0));
  b.section("correction", correction);
}

Status PolicyLossConfig::check() const {
  std::string problems;
  const auto problem = [&](const std::string& text) {
    problems += (problems.empty() ? "" : "\n") + text;
  };
  const bool log_domain = loss == PolicyLoss::Gmpo;
  if (!log_domain && clip_low > 1) {
    problem(fmt::format("clip_low = {}: a ratio cannot fall by more than 1", clip_low));
  }
  if (dual_clip != 0 && dual_clip <= 1) {
    problem(fmt::format("dual_clip = {}: must be above 1, or 0 for none", dual_clip));
  }
  if (loss == PolicyLoss::Cispo && clip_bound == ClipBound::Absolute && clip_high <= 1) {
    problem(
        fmt::format("clip_high = {} with clip_bound = absolute caps every weight below 1; 5 is "
                    "usual, or clip_bound = relative was meant",
                    clip_high));
  }
  if (loss == PolicyLoss::Dppo && correction.rule != CorrectionRule::None) {
    problem("dppo's ratio starts from the engine's log-probs: correction.rule corrects them twice");
  }
  if (correction.rule != CorrectionRule::None && correction.lower() >= correction.upper()) {
    problem(fmt::format("correction: low {} is not below high {}", correction.lower(),
                        correction.upper()));
  }
  if (correction.geometric_high > 0 && correction.geometric_low >= correction.geometric_high) {
    problem(fmt::format("correction: geometric_low {} is not below geometric_high {}",
                        correction.geometric_low, correction.geometric_high));
  }
  return problems.empty() ? Status{} : Status{Code::InvalidArgument, problems};
}

}  // namespace sluice
