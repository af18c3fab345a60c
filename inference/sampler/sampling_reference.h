#pragma once
#include "inference/sampler/sampler.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// For tests: the sampler again, in doubles, by full sorts.
namespace sluice::reference {

/// log softmax(x / temperature).
[[nodiscard]] std::vector<double> log_softmax(std::span<const float> x, double temperature);

/// Probabilities of all tokens under the distribution that is drawn from.
[[nodiscard]] std::vector<double> distribution(std::span<const float> logits,
                                               const SamplingParams& params,
                                               const TokenCounts& counts = {},
                                               const TokenLimits& limits = {});

/// A row of n normal numbers.
[[nodiscard]] std::vector<float> row(int64_t n, float scale, uint64_t seed);

/// How unlikely these counts are under the probabilities: the p-value of Pearson's chi-square test,
/// cells of fewer than 5 expected draws taken together. Counts where the probability is 0 give 0.
[[nodiscard]] double chi_square_p(std::span<const int64_t> counts, std::span<const double> p);

}  // namespace sluice::reference
