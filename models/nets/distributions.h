#pragma once
#include "dataflow/base/random.h"
#include "models/nets/spec.h"

#include <cstdint>

namespace sluice {

/// Action distributions on rows of floats. Randomness comes from numbers or keys that the caller
/// names by slot and step, so a draw never depends on how rows are batched.

/// log softmax(logits)[action].
[[nodiscard]] float categorical_log_prob(const float* logits, int64_t choices,
                                         int64_t action) noexcept;
[[nodiscard]] float categorical_entropy(const float* logits, int64_t choices) noexcept;
/// The most likely choice; the first of equals.
[[nodiscard]] int64_t categorical_mode(const float* logits, int64_t choices) noexcept;
/// The choice whose interval of the cumulated probabilities holds `uniform` in [0, 1); writes its
/// log probability. Never a choice of probability 0.
[[nodiscard]] int64_t categorical_sample(const float* logits, int64_t choices, float uniform,
                                         float* log_prob) noexcept;

/// Diagonal Gaussian with standard deviations exp(log_std).
[[nodiscard]] float gaussian_log_prob(const float* mean, const float* log_std, const float* action,
                                      int64_t dims) noexcept;
[[nodiscard]] float gaussian_entropy(const float* log_std, int64_t dims) noexcept;
/// mean + exp(log_std) * normal(key, step, dimension), unclipped: whoever hands the action to an
/// environment clips it, the stored action stays as drawn. Returns its log probability.
float gaussian_sample(const float* mean, const float* log_std, int64_t dims, RandomKey key,
                      uint64_t step, float* action) noexcept;

/// Where rows of actions go: `choice` for a categorical head, `value` [rows, size] for a Gaussian.
struct ActionRows {
  int64_t* choice = nullptr;
  float* value = nullptr;
};

/// Draws one action per row of `head_rows` [rows, head.size]; row i uses keys[i] (the slot's
/// stream) at counter steps[i]. Writes log_prob[rows].
void sample_actions(const Head& head, const float* head_rows, const float* log_std, int64_t rows,
                    const RandomKey* keys, const uint64_t* steps, ActionRows out,
                    float* log_prob) noexcept;
/// The most likely action of every row.
void mode_actions(const Head& head, const float* head_rows, int64_t rows, ActionRows out) noexcept;

}  // namespace sluice
