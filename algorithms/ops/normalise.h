#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// Mean and inverse spread of a set of advantages.
struct Moments {
  float mean = 0;
  float inverse_std = 1;  ///< 1 / (unbiased standard deviation + 1e-8)
};

/// Two passes in double. The standard deviation is the unbiased one (n - 1), as in the PPO
/// implementations that users compare with; a single sample has no spread and is only centred.
[[nodiscard]] Moments moments(const float* values, int64_t n) noexcept;

/// (x - mean) / (unbiased std + 1e-8) over all elements; a single one becomes 0.
[[nodiscard]] at::Tensor normalise(const at::Tensor& values);

}  // namespace sluice
