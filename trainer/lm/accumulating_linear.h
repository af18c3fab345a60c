#pragma once
#include "models/transformer/linear_ops.h"

namespace sluice {

/// PlainLinearOp for training: where a weight (or the embedding) has a grad() already, its gradient
/// is added there by the very product that makes it, and autograd is given none. That saves a copy
/// of every weight's gradient, and of the embedding's a dense one that is zero nearly everywhere.
/// Weights without a grad() go through autograd. Stateless: any thread, one backward pass at a time
/// for a set of weights.
class AccumulatingLinearOp final : public PlainLinearOp {
 public:
  [[nodiscard]] at::Tensor apply(const Linear& layer, const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor apply_group(std::span<const Linear> layers,
                                       const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor embed(const at::Tensor& weight, const at::Tensor& ids) const override;
};

}  // namespace sluice
