#pragma once
#include "dataflow/base/config.h"
#include "inference/sampler/sampling_params.h"

#include <cstdint>

namespace sluice {

/// How completions are drawn for training and evaluation.
struct SamplingConfig {
  int64_t max_tokens = 64;
  double temperature = 1;  ///< > 0: a trainer divides the logits by it
  int64_t top_k = 0;       ///< 0: off
  double top_p = 1;
  double min_p = 0;

  void bind(ConfigBinder& b) {
    b.field("max_tokens", max_tokens, "tokens of a completion, at most",
            Range::between(1, 1 << 20));
    b.field("temperature", temperature, "divides the logits, when sampling and when training",
            Range::between(0.01, 100));
    b.field("top_k", top_k, "draw from the k most likely tokens; 0 = all", Range::at_least(0));
    b.field("top_p", top_p, "draw from the most likely tokens of this total probability",
            Range::between(1e-6, 1));
    b.field("min_p", min_p, "draw from tokens at least so likely, relative to the likeliest",
            Range::between(0, 1));
  }
  [[nodiscard]] SamplingParams params() const {
    SamplingParams p;
    p.max_tokens = static_cast<int32_t>(max_tokens);
    p.temperature = static_cast<float>(temperature);
    p.top_k = static_cast<int32_t>(top_k);
    p.top_p = static_cast<float>(top_p);
    p.min_p = static_cast<float>(min_p);
    return p;
  }
};

}  // namespace sluice
