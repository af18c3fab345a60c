#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// How the tokens of one request are drawn and when it ends. Plain values; check() says whether
/// they make sense.
struct SamplingParams {
  static constexpr int32_t kMaxSamples = 1024;
  static constexpr int32_t kMaxTopLogprobs = 1024;
  static constexpr size_t kMaxStopStrings = 64;
  static constexpr size_t kMaxStopBytes = 1024;

  float temperature = 1;  ///< below kGreedyBelow: the most likely token, always
  int32_t top_k = 0;      ///< 0: off
  float top_p = 1;
  float min_p = 0;               ///< of the most likely token's probability
  float repetition_penalty = 1;  ///< over prompt and output (CTRL, arXiv 1909.05858)
  float presence_penalty = 0;    ///< over the output
  float frequency_penalty = 0;   ///< over the output, for each time
  /// Added to the logits; an id that stands here twice gets both.
  std::vector<std::pair<int64_t, float>> logit_bias{};
  std::vector<int64_t> allowed_tokens{};  ///< empty: all
  /// Without one the engine draws a seed for the request.
  std::optional<uint64_t> seed{};
  int32_t n = 1;
  std::vector<int64_t> stop_token_ids{};  ///< beside the model's own
  std::vector<std::string> stop{};
  bool include_stop_string = false;
  int32_t max_tokens = 16;  ///< 0 only to score a prompt
  int32_t min_tokens = 0;   ///< no stop rule applies before
  bool ignore_eos = false;  ///< all of the model's own stop ids, not only the first
  int32_t top_logprobs = 0;
  bool prompt_logprobs = false;
};

/// Below this temperature the draw is greedy.
inline constexpr float kGreedyBelow = 1e-5F;

[[nodiscard]] inline bool is_greedy(const SamplingParams& params) noexcept {
  return params.temperature < kGreedyBelow;
}

/// InvalidArgument in one line that lists all that is wrong, for a vocabulary of `vocabulary`
/// tokens. To be called before a request is admitted; TokenSampler relies on it.
Status check(const SamplingParams& params, int64_t vocabulary);

}  // namespace sluice
