#pragma once
#include "dataflow/base/config.h"

#include <ATen/core/Tensor.h>

namespace sluice {

/// Losses on whole answers. h_w and h_l are the log ratios lp - lr, summed over the tokens, of the
/// chosen and the rejected answer.
enum class PreferenceLoss : uint8_t {
  Dpo,   ///< -log sigmoid(beta (h_w - h_l)); arXiv 2305.18290 eq. 7. With label_smoothing: cDPO
  Ipo,   ///< (h_w / L_w - h_l / L_l - 1 / (2 beta))^2; arXiv 2310.12036 eq. 17, means over tokens
  Orpo,  ///< -lp_w / L_w - beta log sigmoid(log odds ratio); arXiv 2403.07691 eqs. 4, 6, 7
};

struct PreferenceConfig {
  PreferenceLoss loss = PreferenceLoss::Dpo;
  double beta = 0.1;           ///< > 0
  double label_smoothing = 0;  ///< [0, 0.5) probability that a label is wrong (cDPO)
  double kto_desirable = 1;    ///< weight of good answers
  double kto_undesirable = 1;  ///< and of bad ones

  void bind(ConfigBinder& b);
};

/// P pairs. Log-probs are sums over each answer's tokens.
struct PreferencePairs {
  at::Tensor chosen;              ///< [P] with gradient
  at::Tensor rejected;            ///< [P] with gradient
  at::Tensor reference_chosen;    ///< [P]; not read by Orpo
  at::Tensor reference_rejected;  ///< [P]
  at::Tensor chosen_length;       ///< [P] tokens; read by Ipo and Orpo
  at::Tensor rejected_length;     ///< [P]
};

/// Sums over pairs (or answers).
struct PreferenceStats {
  double count = 0;
  double loss = 0;             ///< part of the total
  double correct = 0;          ///< pairs whose chosen answer has the larger margin
  double margin = 0;           ///< beta (h_w - h_l); Orpo: the log odds ratio
  double chosen_reward = 0;    ///< beta h_w
  double rejected_reward = 0;  ///< beta h_l

  void add(const PreferenceStats& other) noexcept;
};

struct PreferenceResult {
  at::Tensor total;  ///< scalar with gradient: the sum over `total_count`, so micro-batches add up
  PreferenceStats stats;
};

/// `total_count`: pairs in all micro-batches of the update.
[[nodiscard]] PreferenceResult preference_loss(const PreferenceConfig& config,
                                               const PreferencePairs& pairs, int64_t total_count);

/// Kahneman-Tversky optimisation (arXiv 2402.01306 eqs. 7-8) on single answers. `logprob`,
/// `reference` [N] sums over tokens, `desirable` bool [N], `kl` the reference point: the mean of
/// lp - lr over mismatched pairs of prompt and answer, taken as at least 0, without gradient.
///   desirable: w_d (1 - sigmoid(beta (h - kl))), other: w_u (1 - sigmoid(beta (kl - h))).
[[nodiscard]] PreferenceResult kto_loss(const PreferenceConfig& config, const at::Tensor& logprob,
                                        const at::Tensor& reference, const at::Tensor& desirable,
                                        double kl, int64_t total_count);

/// A reward model's loss on P pairs of scores (Bradley and Terry, 1952; Ouyang et al., 2022, arXiv
/// 2203.02155 eq. 1): -log sigmoid(r_w - r_l - margin) + centre (r_w + r_l)^2. `margin` [P] may be
/// undefined.
[[nodiscard]] PreferenceResult bradley_terry_loss(const at::Tensor& chosen,
                                                  const at::Tensor& rejected,
                                                  const at::Tensor& margin, double centre,
                                                  int64_t total_count);

}  // namespace sluice
