#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// How rewards become advantages. R_i is the reward of rollout i, mean and std those of its group.
enum class AdvantageRule : uint8_t {
  Gae,                ///< from a critic, per token; see token_gae
  Grpo,               ///< (R - mean) / (std + eps), std unbiased; arXiv 2402.03300 sec. 4.1.2
  DrGrpo,             ///< R - mean; arXiv 2503.20783 eq. 3
  Rloo,               ///< R - mean of the others; arXiv 2402.14740 eq. 6
  LeaveOneOut,        ///< Rloo's over the biased std of the others, where that is > 0 (NeMo-RL)
  ReinforcePlusPlus,  ///< discounted sums of token rewards, whitened; arXiv 2501.03262
  ReinforcePlusPlusBaseline,  ///< R - mean, whitened over the batch; the same paper
  ReMax,                      ///< R - R(greedy sample of the same prompt); arXiv 2310.10505 eq. 5
  Opo,                        ///< R - sum L R / sum L over the group, L lengths; arXiv 2505.23585
  Gpg,                        ///< (B / rewards that are not 0) (R - mean); arXiv 2504.02546
  MaxRl,                      ///< (R - mean) / (mean + 1e-6), R >= 0; maximum-likelihood RL
  PassK,  ///< the best one gets (R1 - R2) / (std + eps), the others 0; 2503.19595
};

/// The rewards of an update, one entry per rollout. A reward that is not finite marks a sample that
/// failed: it takes no part in its group's statistics.
struct RewardSet {
  std::span<const double> reward;    ///< [N]
  std::span<const int64_t> group;    ///< [N] any numbers; equal = samples of one prompt's request
  std::span<const double> length;    ///< [N] trained tokens; read by Opo
  std::span<const double> baseline;  ///< [N] reward of the greedy sample; read by ReMax
};

/// What the groups were like; for metrics and warnings.
struct GroupCounts {
  int64_t groups = 0;         ///< all
  int64_t lost = 0;           ///< no sample left
  int64_t singletons = 0;     ///< one sample left: there is nothing to compare it with
  int64_t zero_variance = 0;  ///< two or more, all rewards equal
  int64_t failed = 0;         ///< samples whose reward is not finite
};

struct RolloutAdvantages {
  std::vector<double> advantage;  ///< [N], 0 where not valid
  std::vector<uint8_t> valid;     ///< [N], 0: failed, must not be trained on
  GroupCounts counts;
};

/// One number per rollout. Groups may have different sizes. A group of one and a group of equal
/// rewards get exactly 0 under every rule that compares samples (peers disagree on the group of
/// one: some give it A = R). Rules: all but Gae; for ReinforcePlusPlus it is R itself and for the
/// baseline form R - mean, both to be whitened over tokens.
[[nodiscard]] RolloutAdvantages group_advantages(AdvantageRule rule, const RewardSet& rewards,
                                                 double epsilon = 1e-6);

/// Counts only.
[[nodiscard]] GroupCounts count_groups(const RewardSet& rewards);

/// Whether a rule compares the samples of a group, so that it needs two or more.
[[nodiscard]] bool compares_samples(AdvantageRule rule) noexcept;

}  // namespace sluice
