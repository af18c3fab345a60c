#include "inference/sampler/sampler.h"

#include "dataflow/base/random.h"
#include "inference/sampler/sampling_kernels.h"
#include "models/softmax/softmax_kernels.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

namespace sluice {
namespace {

constexpr auto kBlock = static_cast<size_t>(SamplingKernels::kBlock);

const SamplingKernels& kernels() { return sampling_kernels(active_isa()); }
int64_t length(std::span<const float> row) { return static_cast<int64_t>(row.size()); }

/// The first entry where the running sum of weights exceeds `target`; where rounding leaves none,
/// the last with a weight.
template <class Weights, class Weight>
size_t find(const Weights& weights, double target, const Weight& weight) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto w = static_cast<double>(weight(weights[i]));
    if (!(w > 0)) continue;
    sum += w;
    if (sum > target) return i;
    last = i;
  }
  return last;
}

/// The first n floats of a buffer that only grows.
std::span<float> room(AlignedFloats& buffer, size_t n) {
  if (buffer.size() < n) buffer.resize(n);
  return {buffer.data(), n};
}

}  // namespace

double sampling_uniform(uint64_t seed, uint32_t sample_index, uint64_t position,
                        uint64_t use) noexcept {
  const auto bits = RandomKey(seed).split(sample_index).bits(position, use);
  const uint64_t word = static_cast<uint64_t>(bits[1]) << 32 | bits[0];
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

float TokenSampler::Softmax::logprob(int64_t token) const noexcept {
  return static_cast<float>(x[static_cast<size_t>(token)] - max - log_sum);
}

Result<TokenSampler::Softmax> TokenSampler::softmax(std::span<const float> logits,
                                                    const SamplingParams& params) {
  SLUICE_CHECK(!logits.empty()) << "a row of no logits";
  Softmax out{logits};
  if (!is_greedy(params) && params.temperature != 1) {
    const auto scaled = room(scaled_, logits.size());
    kernels().divide(logits.data(), length(logits), params.temperature, scaled.data());
    out.x = scaled;
  }
  SoftmaxRow row{-FLT_MAX, 0, 0};
  softmax_kernels(active_isa()).fold(out.x.data(), length(logits), true, row);
  if (std::isnan(row.sum)) return error(Code::DataLoss, "the model's logits hold NaN or infinity");
  if (!(row.sum > 0)) return error(Code::DataLoss, "the model's logits are all -inf");
  out.max = row.max;
  out.log_sum = std::log(row.sum);
  out.entropy = std::max(0.0, out.log_sum - row.weighted / row.sum);
  return out;
}

KeptTokens::Row TokenSampler::with_maxima(std::span<const float> x) {
  const auto maxima = room(maxima_, static_cast<size_t>(SamplingKernels::blocks(length(x))));
  kernels().block_max(x.data(), length(x), maxima.data());
  return {x, maxima, *std::max_element(maxima.begin(), maxima.end())};
}

Result<KeptTokens::Row> TokenSampler::processed(std::span<const float> logits, const Softmax& raw,
                                                const SamplingParams& params,
                                                const TokenCounts& counts,
                                                const TokenLimits& limits) {
  std::span<const float> x = raw.x;
  if (changes_logits(params, counts, limits)) {
    SLUICE_CHECK(limits.allowed == nullptr || limits.allowed->vocabulary() == length(logits))
        << "a mask of " << limits.allowed->vocabulary() << " for " << logits.size() << " logits";
    const auto row = room(processed_, logits.size());
    process_logits(logits, params, counts, limits, row);
    if (!is_greedy(params) && params.temperature != 1) {
      kernels().divide(row.data(), length(row), params.temperature, row.data());
    }
    x = row;
  }
  const KeptTokens::Row row = with_maxima(x);
  if (row.max == -INFINITY) {
    return error(Code::FailedPrecondition,
                 "no token is left to draw: allowed tokens, constraint and min_tokens exclude all");
  }
  if (row.max == INFINITY) {
    return error(Code::FailedPrecondition, "bias and penalties make a logit infinite");
  }
  return row;
}

TokenSampler::Drawn TokenSampler::draw_whole(const KeptTokens::Row& row, double uniform) {
  const auto sums = room(sums_, row.block_max.size());
  kernels().block_sums(row.x.data(), length(row.x), row.max, sums.data());
  double total = 0;
  for (const float sum : sums) total += static_cast<double>(sum);
  double target = uniform * total;
  const size_t block = find(sums, target, [](float sum) { return sum; });
  for (size_t i = 0; i < block; ++i) target -= static_cast<double>(sums[i]);
  std::array<float, kBlock> weights{};
  const auto part = row.x.subspan(block * kBlock, std::min(kBlock, row.x.size() - block * kBlock));
  kernels().exponentials(part.data(), length(part), row.max, weights.data());
  const size_t at = find(weights, target, [](float weight) { return weight; });
  return {static_cast<int64_t>(block * kBlock + at),
          static_cast<double>(part[at]) - static_cast<double>(row.max) - std::log(total), 0};
}

TokenSampler::Drawn TokenSampler::draw(const KeptTokens::Row& row, const SamplingParams& params,
                                       double uniform) {
  if (is_greedy(params)) {
    const auto block = static_cast<size_t>(
        std::find(row.block_max.begin(), row.block_max.end(), row.max) - row.block_max.begin());
    const auto begin = row.x.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
    return {std::find(begin, row.x.end(), row.max) - row.x.begin(), 0, 1};
  }
  if (!KeptTokens::cuts(params, row.x.size())) {
    Drawn drawn = draw_whole(row, uniform);
    drawn.kept = kernels().possible(row.x.data(), length(row.x));
    return drawn;
  }
  const std::span<const Candidate> kept = kept_.cut(row, params);
  double total = 0;
  for (const Candidate& c : kept) total += static_cast<double>(c.weight);
  const Candidate& c =
      kept[find(kept, uniform * total, [](const Candidate& k) { return k.weight; })];
  return {c.id, static_cast<double>(c.x) - static_cast<double>(row.max) - std::log(total),
          static_cast<int64_t>(kept.size())};
}

SampledToken TokenSampler::describe(const Softmax& raw, const Drawn& drawn,
                                    const SamplingParams& params) {
  SampledToken out;
  out.token = drawn.token;
  out.logprob = static_cast<float>(drawn.logprob);
  out.logprob_temperature = raw.logprob(drawn.token);
  out.entropy = static_cast<float>(raw.entropy);
  out.kept = static_cast<int32_t>(drawn.kept);
  if (params.top_logprobs > 0) {
    const auto top = kept_.greatest(with_maxima(raw.x), static_cast<size_t>(params.top_logprobs));
    out.top.reserve(top.size());
    for (const Candidate& c : top) out.top.push_back({c.id, raw.logprob(c.id)});
  }
  return out;
}

Result<SampledToken> TokenSampler::sample(std::span<const float> logits,
                                          const SamplingParams& params, const TokenCounts& counts,
                                          uint64_t seed, uint32_t sample_index, uint64_t position,
                                          const TokenLimits& limits) {
  ASSIGN_OR_RETURN(const Softmax raw, softmax(logits, params));
  ASSIGN_OR_RETURN(const KeptTokens::Row row, processed(logits, raw, params, counts, limits));
  const double uniform = sampling_uniform(seed, sample_index, position);
  const Drawn drawn = draw(row, params, uniform);
  SampledToken out = describe(raw, drawn, params);
  const bool same = row.x.data() == raw.x.data() && !KeptTokens::cuts(params, row.x.size());
  if (same && !is_greedy(params)) out.logprob = out.logprob_temperature;  // rounded differently
  return out;
}

Result<SampledToken> TokenSampler::score(std::span<const float> logits, int64_t token,
                                         const SamplingParams& params) {
  ASSIGN_OR_RETURN(const Softmax raw, softmax(logits, params));
  if (token < 0 || token >= length(logits)) {
    return error(Code::OutOfRange, "token {} is not in a vocabulary of {}", token, logits.size());
  }
  // What is forbidden has no log-prob that JSON could carry.
  if (raw.x[static_cast<size_t>(token)] == -INFINITY) {
    return error(Code::FailedPrecondition, "token {} has a logit of -inf", token);
  }
  Drawn drawn{token, 0, length(logits)};
  SampledToken out = describe(raw, drawn, params);
  out.logprob = out.logprob_temperature;
  return out;
}

Result<std::span<const TokenProbability>> TokenSampler::distribution(std::span<const float> logits,
                                                                     const SamplingParams& params,
                                                                     const TokenCounts& counts,
                                                                     const TokenLimits& limits) {
  ASSIGN_OR_RETURN(const Softmax raw, softmax(logits, params));
  ASSIGN_OR_RETURN(const KeptTokens::Row row, processed(logits, raw, params, counts, limits));
  probabilities_.clear();
  if (is_greedy(params)) {
    probabilities_.push_back({static_cast<int32_t>(draw(row, params, 0).token), 1});
    return std::span<const TokenProbability>(probabilities_);
  }
  double total = 0;
  for (const Candidate& c : kept_.cut(row, params)) {
    total += static_cast<double>(c.weight);
    probabilities_.push_back({c.id, static_cast<double>(c.weight)});
  }
  for (TokenProbability& p : probabilities_) p.probability /= total;
  return std::span<const TokenProbability>(probabilities_);
}

}  // namespace sluice
