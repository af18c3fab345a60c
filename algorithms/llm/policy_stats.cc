#include "algorithms/llm/policy_loss.h"

#include <algorithm>

namespace sluice {
namespace {

// Everything that adds over micro-batches; the two maxima do not.
constexpr double PolicyStats::*kSums[] = {
    &PolicyStats::tokens,       &PolicyStats::sequences,    &PolicyStats::policy_loss,
    &PolicyStats::kl_loss,      &PolicyStats::entropy_loss, &PolicyStats::advantage,
    &PolicyStats::ratio,        &PolicyStats::clipped_low,  &PolicyStats::clipped_high,
    &PolicyStats::dual_clipped, &PolicyStats::approx_kl,    &PolicyStats::reference_kl,
    &PolicyStats::entropy,      &PolicyStats::weight,       &PolicyStats::weight_clamped,
    &PolicyStats::dropped,      &PolicyStats::gap,          &PolicyStats::gap_kl};

}  // namespace

void PolicyStats::add(const PolicyStats& other) noexcept {
  for (double PolicyStats::*member : kSums) this->*member += other.*member;
  ratio_max = std::max(ratio_max, other.ratio_max);
  gap_max = std::max(gap_max, other.gap_max);
}

std::vector<std::pair<std::string, double>> PolicyStats::means() const {
  const double n = std::max(tokens, 1.0);
  return {{"policy_loss", policy_loss},
          {"kl_loss", kl_loss},
          {"entropy_loss", entropy_loss},
          {"advantage", advantage / n},
          {"ratio", ratio / n},
          {"ratio_max", ratio_max},
          {"clip_low", clipped_low / n},
          {"clip_high", clipped_high / n},
          {"clip_dual", dual_clipped / n},
          {"approx_kl", approx_kl / n},
          {"reference_kl", reference_kl / n},
          {"entropy", entropy / n},
          {"correction_weight", weight / n},
          {"correction_clamped", weight_clamped / n},
          {"correction_dropped", dropped / n},
          {"logprob_gap", gap / n},
          {"logprob_gap_max", gap_max},
          {"logprob_gap_kl", gap_kl / n}};
}

}  // namespace sluice
