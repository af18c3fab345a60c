#pragma once
#include "trainer/optim/adam.h"

#include <ATen/core/Tensor.h>

namespace sluice {

/// AdamW on one large flat buffer, on LibTorch's threads. Numbers do not depend on how many.
class FlatAdam {
 public:
  /// Weight decay is for the first `decayed` numbers.
  FlatAdam(int64_t size, int64_t decayed, const AdamConfig& config);

  void step(float* parameters, const float* gradient, double learning_rate, double scale);

  [[nodiscard]] int64_t steps() const noexcept { return step_; }
  /// The state, [size] each: m and v are the buffers themselves.
  [[nodiscard]] const at::Tensor& m() const noexcept { return m_; }
  [[nodiscard]] const at::Tensor& v() const noexcept { return v_; }
  void steps(int64_t steps) noexcept { step_ = steps; }

 private:
  AdamConfig config_;
  int64_t decayed_;
  int64_t step_ = 0;
  at::Tensor m_;
  at::Tensor v_;
};

/// global_norm() of a large buffer on LibTorch's threads, summed in an order of its own that does
/// not depend on how many. NaN or infinite when a number is.
[[nodiscard]] double flat_norm(const float* values, int64_t n);

}  // namespace sluice
