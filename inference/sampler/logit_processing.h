#pragma once
#include "inference/sampler/sampling_params.h"
#include "inference/sampler/token_counts.h"
#include "inference/sampler/token_mask.h"

#include <span>

namespace sluice {

/// What may be drawn beside what the request says. Refers, does not own.
struct TokenLimits {
  const TokenMask* allowed = nullptr;  ///< of a constraint; null: all. Exactly the vocabulary long
  /// The model's own stop ids, all of them; min_tokens forbids them unless ignore_eos.
  std::span<const int64_t> eos_ids{};
};

/// Whether process_logits would change any row of these.
[[nodiscard]] bool changes_logits(const SamplingParams& params, const TokenCounts& counts,
                                  const TokenLimits& limits) noexcept;

/// Writes to `row` what becomes of the logits, in this order: allowed sets, min_tokens (stop ids
/// get -inf), logit bias, then penalties: repetition (x > 0: divided, else multiplied), frequency,
/// presence. Temperature comes after. Both are the vocabulary long.
void process_logits(std::span<const float> logits, const SamplingParams& params,
                    const TokenCounts& counts, const TokenLimits& limits, std::span<float> row);

}  // namespace sluice
