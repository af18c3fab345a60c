#pragma once
#include "models/softmax/softmax_kernels.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// The online softmax (arXiv 1805.02867) over tiles [rows, cols] of logits x that come from left to
/// right. fp32 tiles on the CPU go through SoftmaxKernels, all others through ATen.
class OnlineSoftmax {
 public:
  OnlineSoftmax(int64_t rows, const at::TensorOptions& options, bool entropy);

  /// Takes in a tile whose first column is `col`, and destroys it unless preserves(). `targets`
  /// [rows].
  void fold(const at::Tensor& tile, const at::Tensor& targets, int64_t col);
  [[nodiscard]] bool preserves() const noexcept { return fused_; }

  /// Of all tiles together: x_y - lse, lse and entropy [rows]; entropy only if asked for.
  void finish(const at::Tensor& logprob, const at::Tensor& lse, const at::Tensor& entropy) const;

 private:
  void fold_fused(const at::Tensor& tile);

  bool entropy_;
  bool fused_;
  at::Tensor target_;  ///< x_y
  // What SoftmaxRow holds, as [rows] tensors; for ATen
  at::Tensor max_;
  at::Tensor sum_;
  at::Tensor weighted_;
  std::vector<SoftmaxRow> rows_;  ///< for the kernels
};

/// What the backward pass knows of each row; [rows], `q` and `entropy` undefined when the entropy
/// gets no gradient, `g` when the log-prob gets none.
struct RowGradients {
  at::Tensor lse;
  at::Tensor g;
  at::Tensor q;
  at::Tensor entropy;

  [[nodiscard]] RowGradients narrow(int64_t row, int64_t count) const;
};

/// Turns a tile of x whose first column is `col` into d loss / d x, in place:
/// g (1[v = y] - p_v) - q p_v (log p_v + H).
void to_gradient(const at::Tensor& tile, const at::Tensor& targets, int64_t col,
                 const RowGradients& rows);

}  // namespace sluice
