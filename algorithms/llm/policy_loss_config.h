#pragma once
#include "algorithms/ops/aggregate.h"
#include "algorithms/ops/kl.h"
#include "dataflow/base/config.h"

namespace sluice {

/// The part of the loss that follows the advantage A. rho = exp(lp - lo), lp the current and lo the
/// old log-prob of the sampled token; sg stops gradients. docs/post-training.md has the equations.
enum class PolicyLoss : uint8_t {
  Clip,       ///< max(-A rho, -A clip(rho)); PPO, GRPO, DAPO; arXiv 1707.06347 eq. 7
  Unclipped,  ///< -A rho
  Reinforce,  ///< -A lp
  Gspo,       ///< Clip with one ratio per sequence; arXiv 2507.18071 eqs. 5-7
  Gmpo,       ///< the geometric mean of clipped ratios; arXiv 2507.20673 eq. 4
  Cispo,      ///< -sg(clip(rho)) A lp; arXiv 2506.13585 eq. 4
  Sapo,       ///< -A (4 / tau) sigmoid(tau (rho - 1)); arXiv 2511.20347 eq. 5
  Dppo,       ///< mask by the change of probability; arXiv 2602.04879 sec. 5
  Dro,        ///< -(A lp - beta/2 (lp - lo)^2); arXiv 2405.19107
};

/// How CISPO's clip range is written. The two are a factor apart, so there is no default guess:
/// Relative bounds are 1 - clip_low and 1 + clip_high; Absolute is the largest weight itself
/// (ScaleRL: 5), without a lower bound.
enum class ClipBound : uint8_t { Relative, Absolute };

/// Correction of the gap between the sampling engine (lb) and the trainer (lo): the policy term is
/// multiplied by a weight made of w = exp(lo - lb), or left out where w says so. Denominators do
/// not change: what is left out still counts as a token.
enum class CorrectionRule : uint8_t {
  None,
  Tis,          ///< token weight, clamped to [low, high]; [0, 2]
  SequenceTis,  ///< the product over the sequence, clamped; [0, 5]
  IcePop,       ///< token weight, tokens outside [low, high] left out; [0.5, 5], arXiv 2510.18855
  Mis,          ///< product over the sequence, sequences outside [low, high] left out; [0, 3]
  Decoupled,    ///< token weight, tokens above high left out; 5, arXiv 2505.24298 eq. 5
};

struct CorrectionConfig {
  CorrectionRule rule = CorrectionRule::None;
  double low = -1;   ///< -1: the rule's own
  double high = -1;  ///< -1: the rule's own
  /// Sequences whose geometric mean of w is outside are left out; high 0 = off. 0.99 and 1.01 are
  /// usual.
  double geometric_low = 0;
  double geometric_high = 0;
  /// Off-policy sequence masking: a sequence with A < 0 and mean(lo - lp) above it is left out;
  /// 0 = off. DeepSeek-V3.2, arXiv 2512.02556 sec. 3.1; 1e-4 is usual.
  double opsm_delta = 0;

  [[nodiscard]] double lower() const noexcept;  ///< the bound in force
  [[nodiscard]] double upper() const noexcept;
  void bind(ConfigBinder& b);
};

struct PolicyLossConfig {
  PolicyLoss loss = PolicyLoss::Clip;
  Aggregation aggregation = Aggregation::TokenMean;
  double clip_low = 0.2;   ///< [0, 1]; Gmpo: of the log ratio; Dppo: of the probability
  double clip_high = 0.2;  ///< >= 0
  double dual_clip = 0;    ///< Clip: -A times this bounds the loss where A < 0; > 1, 0 = off
  ClipBound clip_bound = ClipBound::Relative;  ///< Cispo
  double sapo_tau_positive = 1;                ///< > 0
  double sapo_tau_negative = 1.05;             ///< > 0
  bool dppo_two_sided = false;                 ///< mask both directions of change, as prime-rl does
  double dppo_cap = 20;                        ///< > 1 bound of the ratio
  double dppo_square = 0;   ///< >= 0 weight of (lp - lb)^2 on all tokens; prime-rl: 1e-3
  double dro_beta = 0.1;    ///< > 0
  double entropy_coef = 0;  ///< weight of the entropy bonus
  KlEstimator kl_estimator = KlEstimator::K3;
  double kl_coef = 0;  ///< >= 0 weight of KL to the reference policy in the loss; 0 = off
  CorrectionConfig correction;

  void bind(ConfigBinder& b);
  /// What ranges cannot say, all problems, one a line.
  [[nodiscard]] Status check() const;
};

/// Names as the configuration spells them, for other bindings and messages.
[[nodiscard]] const std::vector<std::pair<std::string, Aggregation>>& aggregation_names();
[[nodiscard]] const std::vector<std::pair<std::string, KlEstimator>>& kl_names();

}  // namespace sluice
