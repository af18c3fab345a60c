#include "algorithms/ops/normalise.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sluice {

Moments moments(const float* values, int64_t n) noexcept {
  if (n <= 0) return {};
  double sums[8] = {};  // a fixed order that compilers keep in registers
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(values[i + j]);
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(values[i]);
  double sum = 0;
  for (const double s : sums) sum += s;
  const double mean = sum / static_cast<double>(n);
  if (n == 1) return {static_cast<float>(mean), 1.0F};
  double squares[8] = {};
  for (i = 0; i + 8 <= n; i += 8) {
    for (int64_t j = 0; j < 8; ++j) {
      const double d = static_cast<double>(values[i + j]) - mean;
      squares[j] += d * d;
    }
  }
  for (; i < n; ++i) {
    const double d = static_cast<double>(values[i]) - mean;
    squares[0] += d * d;
  }
  double square = 0;
  for (const double s : squares) square += s;
  const double std = std::sqrt(square / static_cast<double>(n - 1));
  return {static_cast<float>(mean), static_cast<float>(1.0 / (std + 1e-8))};
}

at::Tensor normalise(const at::Tensor& values) {
  const at::Tensor flat = values.detach().to(at::kFloat).contiguous();
  const Moments m = moments(flat.data_ptr<float>(), flat.numel());
  return (values - m.mean) * m.inverse_std;
}

}  // namespace sluice
