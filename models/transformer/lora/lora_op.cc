#include "models/transformer/lora/lora_op.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {

at::Tensor LoraOp::apply(const Linear& layer, const at::Tensor& x) const {
  const Linear& used = lora_.resolve(layer);
  if (&used != &layer) {
    // A layer trained whole may be wider than the activations.
    return base_.apply(used, x.to(used.weight.scalar_type())).to(x.scalar_type());
  }
  at::Tensor y = base_.apply(layer, x);
  const LoraAdapter* adapter = lora_.find(layer.name);
  if (adapter == nullptr) return y;
  const at::Tensor low = at::linear(x.to(adapter->a.scalar_type()), adapter->a);
  return at::add(y, at::linear(low, adapter->b).to(y.scalar_type()), adapter->scale);
}

at::Tensor LoraOp::apply_group(std::span<const Linear> layers, const at::Tensor& x) const {
  const auto plain = [&](const Linear& layer) {
    return lora_.find(layer.name) == nullptr && &lora_.resolve(layer) == &layer;
  };
  if (std::all_of(layers.begin(), layers.end(), plain)) return base_.apply_group(layers, x);
  return LinearOp::apply_group(layers, x);
}

}  // namespace sluice
