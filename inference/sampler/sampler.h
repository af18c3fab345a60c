#pragma once
#include "dataflow/base/aligned.h"
#include "inference/sampler/kept_tokens.h"
#include "inference/sampler/logit_processing.h"
#include "inference/sampler/sampling_params.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

struct TokenLogprob {
  int64_t token = 0;
  float logprob = 0;
  bool operator==(const TokenLogprob&) const = default;
};

/// A drawn token and how likely it was. Of a greedy draw the temperature counts as 1 here. All
/// numbers are finite.
struct SampledToken {
  int64_t token = 0;
  /// Under the distribution it was drawn from (after penalties, masks and cuts; 0 when greedy).
  float logprob = 0;
  /// log softmax(logits / temperature)[token], what a trainer computes; bit for bit the
  /// token_logprobs of a tile of the same numbers.
  float logprob_temperature = 0;
  float entropy = 0;  ///< of softmax(logits / temperature), in nats
  int32_t kept = 0;   ///< tokens that could have been drawn
  /// The top_logprobs most likely of softmax(logits / temperature), greatest first.
  std::vector<TokenLogprob> top{};
};

/// What a token may be drawn from: probabilities of all tokens that have one, by id.
struct TokenProbability {
  int32_t token = 0;
  double probability = 0;
};

/// A number in [0, 1) that depends on nothing but its arguments: not on the batch, not on what was
/// drawn before. `use` tells draws at one position apart.
[[nodiscard]] double sampling_uniform(uint64_t seed, uint32_t sample_index, uint64_t position,
                                      uint64_t use = 0) noexcept;

/// Draws tokens. Every call is a pure function of its arguments; the object only keeps buffers, so
/// that no call allocates once they have grown (but for top_logprobs). One thread at a time.
///
///   TokenSampler sampler;
///   ASSIGN_OR_RETURN(SampledToken next,
///                    sampler.sample(row, params, counts, seed, sample, counts.generated()));
///   counts.add_output(next.token);
///
/// Order: what process_logits does, temperature, top-k, top-p, min-p. Parameters must have passed
/// check() for a vocabulary of the row's length.
class TokenSampler {
 public:
  /// DataLoss when the row holds NaN or +inf or nothing above -inf; FailedPrecondition when masks
  /// leave no token.
  Result<SampledToken> sample(std::span<const float> logits, const SamplingParams& params,
                              const TokenCounts& counts, uint64_t seed, uint32_t sample_index,
                              uint64_t position, const TokenLimits& limits = {});

  /// How likely `token` is under softmax(logits / temperature), without a draw: logprob equals
  /// logprob_temperature. For scoring prompts; errors as sample().
  Result<SampledToken> score(std::span<const float> logits, int64_t token,
                             const SamplingParams& params);

  /// The distribution that sample() draws from. The span is valid until the next call.
  Result<std::span<const TokenProbability>> distribution(std::span<const float> logits,
                                                         const SamplingParams& params,
                                                         const TokenCounts& counts,
                                                         const TokenLimits& limits = {});

 private:
  /// A row over its temperature, and its softmax.
  struct Softmax {
    std::span<const float> x;
    double max = 0;
    double log_sum = 0;
    double entropy = 0;
    [[nodiscard]] float logprob(int64_t token) const noexcept;
  };
  struct Drawn {
    int64_t token = 0;
    double logprob = 0;
    int64_t kept = 0;
  };

  Result<Softmax> softmax(std::span<const float> logits, const SamplingParams& params);
  /// The row that is drawn from, with its block maxima.
  Result<KeptTokens::Row> processed(std::span<const float> logits, const Softmax& raw,
                                    const SamplingParams& params, const TokenCounts& counts,
                                    const TokenLimits& limits);
  [[nodiscard]] KeptTokens::Row with_maxima(std::span<const float> x);
  [[nodiscard]] Drawn draw(const KeptTokens::Row& row, const SamplingParams& params,
                           double uniform);
  [[nodiscard]] Drawn draw_whole(const KeptTokens::Row& row, double uniform);
  [[nodiscard]] SampledToken describe(const Softmax& raw, const Drawn& drawn,
                                      const SamplingParams& params);

  KeptTokens kept_;
  AlignedFloats scaled_;     ///< logits / temperature
  AlignedFloats processed_;  ///< the same after processing
  AlignedFloats maxima_;
  AlignedFloats sums_;
  std::vector<TokenProbability> probabilities_;
};

}  // namespace sluice
