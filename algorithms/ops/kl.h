#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// Estimators of KL(policy || reference) from one sampled token, d = lp - lr (Schulman,
/// "Approximating KL divergence", 2020). As a loss, the gradients by lp are 1, sign d, d and 1 -
/// e^-d: that of K1 is zero in expectation and trains nothing, that of K2 is right on policy.
enum class KlEstimator : uint8_t {
  K1,      ///< d
  Abs,     ///< |d|
  K2,      ///< d^2 / 2
  K3,      ///< e^-d + d - 1, never negative
  K1Plus,  ///< value of K1, gradient of K2
  K3Plus,  ///< value of K3, gradient of K2
};

/// Per token, with gradient by `logprob`. K3 takes d within +-20 and gives at most 10; beyond, its
/// gradient is 0.
[[nodiscard]] at::Tensor kl_estimate(const at::Tensor& logprob, const at::Tensor& reference,
                                     KlEstimator estimator);

/// The coefficient that steers KL towards a target (Ziegler et al., 2019, arXiv 1909.08593
/// sec. 2.2):
///   beta <- beta (1 + clip(kl / target - 1, -0.2, 0.2) n / horizon).
class AdaptiveKl {
 public:
  AdaptiveKl(double beta, double target, double horizon) noexcept
      : beta_(beta), target_(target), horizon_(horizon) {}

  /// After an update that saw `samples` rollouts with mean divergence `kl`. A kl that is not finite
  /// changes nothing. Returns the new coefficient.
  double update(double kl, int64_t samples) noexcept;
  [[nodiscard]] double beta() const noexcept { return beta_; }
  /// For resuming.
  void beta(double value) noexcept { beta_ = value; }

 private:
  double beta_;
  double target_;
  double horizon_;
};

}  // namespace sluice
