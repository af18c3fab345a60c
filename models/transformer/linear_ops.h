#pragma once
#include "models/transformer/ops.h"

#include <memory>

namespace sluice {

/// Plain products with gradients. A group whose weights lie end to end (as Parameters allocates
/// them) is one product, forward and backward. Stateless: any thread.
class PlainLinearOp : public LinearOp {
 public:
  [[nodiscard]] at::Tensor apply(const Linear& layer, const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor apply_group(std::span<const Linear> layers,
                                       const at::Tensor& x) const override;
};

/// The tensor that spans `parts`, which must lie end to end along their first dimension in one
/// storage; undefined when they do not. Shares their memory, carries no gradient.
[[nodiscard]] at::Tensor spanning(at::TensorList parts);

}  // namespace sluice
