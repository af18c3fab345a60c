#include "algorithms/ops/kl.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sluice {

at::Tensor kl_estimate(const at::Tensor& logprob, const at::Tensor& reference,
                       KlEstimator estimator) {
  const at::Tensor d = logprob - reference;
  const auto k3 = [](const at::Tensor& x) {
    const at::Tensor y = x.clamp(-20, 20);
    return ((-y).expm1() + y).clamp(-10, 10);
  };
  const auto with_k2_gradient = [&](const at::Tensor& value) {
    const at::Tensor k2 = 0.5 * d.square();
    return k2 - k2.detach() + value.detach();
  };
  switch (estimator) {
    case KlEstimator::K1:
      return d;
    case KlEstimator::Abs:
      return d.abs();
    case KlEstimator::K2:
      return 0.5 * d.square();
    case KlEstimator::K3:
      return k3(d);
    case KlEstimator::K1Plus:
      return with_k2_gradient(d);
    case KlEstimator::K3Plus:
      return with_k2_gradient(k3(d));
  }
  return d;
}

double AdaptiveKl::update(double kl, int64_t samples) noexcept {
  if (!std::isfinite(kl)) return beta_;
  const double miss = std::clamp(kl / target_ - 1, -0.2, 0.2);
  beta_ *= 1 + miss * static_cast<double>(samples) / horizon_;
  return beta_;
}

}  // namespace sluice
