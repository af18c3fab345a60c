#include "models/nets/distributions.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr float kHalfLogTwoPi = 0.91893853320467274F;

// max(logits) and log(sum(exp(logits - max))).
struct Normaliser {
  Normaliser(const float* logits, int64_t n) noexcept : max(*std::max_element(logits, logits + n)) {
    for (int64_t i = 0; i < n; ++i) sum += std::exp(logits[i] - max);
  }
  float max;
  float sum = 0;
};

}  // namespace

float categorical_log_prob(const float* logits, int64_t choices, int64_t action) noexcept {
  const Normaliser z(logits, choices);
  return logits[action] - z.max - std::log(z.sum);
}

float categorical_entropy(const float* logits, int64_t choices) noexcept {
  const Normaliser z(logits, choices);
  const float log_sum = std::log(z.sum);
  float entropy = 0;
  for (int64_t i = 0; i < choices; ++i) {
    const float log_p = logits[i] - z.max - log_sum;
    const float p = std::exp(log_p);
    if (p > 0) entropy -= p * log_p;  // a masked choice has log_p = -inf
  }
  return entropy;
}

int64_t categorical_mode(const float* logits, int64_t choices) noexcept {
  return std::max_element(logits, logits + choices) - logits;
}

int64_t categorical_sample(const float* logits, int64_t choices, float uniform,
                           float* log_prob) noexcept {
  const Normaliser z(logits, choices);
  const float target = uniform * z.sum;
  float cumulated = 0;
  int64_t chosen = -1;
  for (int64_t i = 0; i < choices; ++i) {
    const float mass = std::exp(logits[i] - z.max);
    if (mass <= 0) continue;
    chosen = i;  // the last possible choice stands when rounding leaves the target beyond the sum
    cumulated += mass;
    if (target < cumulated) break;
  }
  chosen = std::max<int64_t>(chosen, 0);
  if (log_prob != nullptr) *log_prob = logits[chosen] - z.max - std::log(z.sum);
  return chosen;
}

float gaussian_log_prob(const float* mean, const float* log_std, const float* action,
                        int64_t dims) noexcept {
  float sum = 0;
  for (int64_t i = 0; i < dims; ++i) {
    const float z = (action[i] - mean[i]) * std::exp(-log_std[i]);
    sum -= 0.5F * z * z + log_std[i] + kHalfLogTwoPi;
  }
  return sum;
}

float gaussian_entropy(const float* log_std, int64_t dims) noexcept {
  float sum = 0;
  for (int64_t i = 0; i < dims; ++i) sum += log_std[i] + kHalfLogTwoPi + 0.5F;
  return sum;
}

float gaussian_sample(const float* mean, const float* log_std, int64_t dims, RandomKey key,
                      uint64_t step, float* action) noexcept {
  const RandomKey draw = key.split(step);
  for (int64_t i = 0; i < dims; i += 2) {
    const auto normal = draw.normal(static_cast<uint64_t>(i / 2));
    action[i] = mean[i] + std::exp(log_std[i]) * normal[0];
    if (i + 1 < dims) action[i + 1] = mean[i + 1] + std::exp(log_std[i + 1]) * normal[1];
  }
  return gaussian_log_prob(mean, log_std, action, dims);
}

void sample_actions(const Head& head, const float* head_rows, const float* log_std, int64_t rows,
                    const RandomKey* keys, const uint64_t* steps, ActionRows out,
                    float* log_prob) noexcept {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = head_rows + r * head.size;
    if (head.discrete()) {
      out.choice[r] = categorical_sample(row, head.size, keys[r].uniform(steps[r]), log_prob + r);
    } else {
      log_prob[r] =
          gaussian_sample(row, log_std, head.size, keys[r], steps[r], out.value + r * head.size);
    }
  }
}

void mode_actions(const Head& head, const float* head_rows, int64_t rows, ActionRows out) noexcept {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = head_rows + r * head.size;
    if (head.discrete()) {
      out.choice[r] = categorical_mode(row, head.size);
    } else {
      std::copy(row, row + head.size, out.value + r * head.size);
    }
  }
}

}  // namespace sluice
