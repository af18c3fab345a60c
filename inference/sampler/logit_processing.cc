#include "inference/sampler/logit_processing.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr float kForbidden = -INFINITY;

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1 || params.presence_penalty != 0 ||
         params.frequency_penalty != 0;
}

bool below_min_tokens(const SamplingParams& params, const TokenCounts& counts) {
  return counts.generated() < params.min_tokens;
}

void apply_mask(std::span<float> row, const TokenMask& mask) {
  const auto words = mask.words();
  for (size_t w = 0; w < words.size(); ++w) {
    const size_t begin = 64 * w, end = std::min(begin + 64, row.size());
    if (words[w] == ~uint64_t{0}) continue;
    for (size_t i = begin; i < end; ++i) {
      if ((words[w] >> (i - begin) & 1) == 0) row[i] = kForbidden;
    }
  }
}

void forbid(std::span<float> row, std::span<const int64_t> tokens) {
  for (const int64_t token : tokens) {
    if (token >= 0 && static_cast<size_t>(token) < row.size()) {
      row[static_cast<size_t>(token)] = kForbidden;
    }
  }
}

void penalize(std::span<float> row, const SamplingParams& params, const TokenCounts& counts) {
  for (const TokenCounts::Entry& seen : counts.entries()) {
    if (seen.token < 0 || static_cast<size_t>(seen.token) >= row.size()) continue;
    float& x = row[static_cast<size_t>(seen.token)];
    x = x > 0 ? x / params.repetition_penalty : x * params.repetition_penalty;
    if (seen.output == 0) continue;
    x -= params.frequency_penalty * static_cast<float>(seen.output);
    x -= params.presence_penalty;
  }
}

}  // namespace

bool changes_logits(const SamplingParams& params, const TokenCounts& counts,
                    const TokenLimits& limits) noexcept {
  return limits.allowed != nullptr || !params.allowed_tokens.empty() ||
         !params.logit_bias.empty() || below_min_tokens(params, counts) ||
         (has_penalties(params) && !counts.entries().empty());
}

void process_logits(std::span<const float> logits, const SamplingParams& params,
                    const TokenCounts& counts, const TokenLimits& limits, std::span<float> row) {
  if (params.allowed_tokens.empty()) {
    std::copy(logits.begin(), logits.end(), row.begin());
  } else {
    std::fill(row.begin(), row.end(), kForbidden);
    for (const int64_t token : params.allowed_tokens) {
      row[static_cast<size_t>(token)] = logits[static_cast<size_t>(token)];
    }
  }
  if (limits.allowed != nullptr) apply_mask(row, *limits.allowed);
  if (below_min_tokens(params, counts)) {
    forbid(row, params.stop_token_ids);
    if (!params.ignore_eos) forbid(row, limits.eos_ids);
  }
  for (const auto& [token, bias] : params.logit_bias) row[static_cast<size_t>(token)] += bias;
  if (has_penalties(params)) penalize(row, params, counts);
}

}  // namespace sluice
