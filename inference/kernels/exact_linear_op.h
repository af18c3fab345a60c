#pragma once
#include "models/transformer/ops.h"

namespace sluice {

/// fp32 products whose rows do not depend on each other: a row has the same bits whether it is
/// multiplied alone, among thousands, or by PackedLinearOp in WeightFormat::Fp32. What the trainer
/// gives its model so that its log-probs equal the engine's in exact mode. Reads the model's own
/// weights; the backward is LibTorch's products. CPU, fp32. Stateless: any thread.
class ExactLinearOp : public LinearOp {
 public:
  [[nodiscard]] at::Tensor apply(const Linear& layer, const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor apply_group(std::span<const Linear> layers,
                                       const at::Tensor& x) const override;
};

}  // namespace sluice
