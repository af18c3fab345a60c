#pragma once
#include "models/transformer/lora/lora.h"

namespace sluice {

/// Multiplies as `base` does and adds each layer's adapter: y + scale B (A x), computed in the
/// adapter's dtype and added in that of y. Gradients flow to A, B and x (and to the base weights,
/// when they ask for any). Keeps references to both.
class LoraOp final : public LinearOp {
 public:
  LoraOp(const LinearOp& base, const LoraSet& lora) : base_(base), lora_(lora) {}

  [[nodiscard]] at::Tensor apply(const Linear& layer, const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor apply_group(std::span<const Linear> layers,
                                       const at::Tensor& x) const override;
  [[nodiscard]] at::Tensor embed(const at::Tensor& weight, const at::Tensor& ids) const override {
    return base_.embed(weight, ids);
  }

 private:
  const LinearOp& base_;
  const LoraSet& lora_;
};

}  // namespace sluice
