#include "models/transformer/linear_ops.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace sluice {

at::Tensor LinearOp::apply_group(std::span<const Linear> layers, const at::Tensor& x) const {
  std::vector<at::Tensor> outputs;
  outputs.reserve(layers.size());
  for (const Linear& layer : layers) outputs.push_back(apply(layer, x));
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs, -1);
}

at::Tensor LinearOp::embed(const at::Tensor& weight, const at::Tensor& ids) const {
  return at::embedding(weight, ids);
}

at::Tensor spanning(at::TensorList parts) {
  const at::Tensor& first = parts.front();
  if (!first.defined() || !first.is_contiguous() || first.dim() < 1) return {};
  int64_t rows = 0;
  int64_t next = first.storage_offset();
  for (const at::Tensor& part : parts) {
    if (!part.defined() || !part.is_contiguous() || part.dim() != first.dim()) return {};
    if (!part.storage().is_alias_of(first.storage()) || part.storage_offset() != next) return {};
    if (part.dim() > 1 && part.sizes().slice(1) != first.sizes().slice(1)) return {};
    next += part.numel();
    rows += part.size(0);
  }
  std::vector<int64_t> sizes = first.sizes().vec();
  sizes[0] = rows;
  return first.detach().as_strided(sizes, first.strides(), first.storage_offset());
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// y = x W^T + b for a W (and b) that spans the given parts; the gradients come back per part.
class GroupedLinear : public torch::autograd::Function<GroupedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weights,
                            at::TensorList biases) {
    const at::Tensor weight = spanning(weights);
    const at::Tensor bias = biases.empty() ? at::Tensor() : spanning(biases);
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["biases"] = static_cast<int64_t>(biases.size());
    return at::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor& x = saved.front();
    const at::TensorList weights(saved.data() + 1, saved.size() - 1);
    const auto biases = static_cast<size_t>(ctx->saved_data["biases"].toInt());
    const at::Tensor dy = grads[0].reshape({-1, grads[0].size(-1)});
    variable_list out(1 + weights.size() + biases);
    if (ctx->needs_input_grad(0)) {
      out[0] = at::mm(dy, spanning(weights)).view(x.sizes());
    }
    std::vector<int64_t> rows;
    for (const at::Tensor& w : weights) rows.push_back(w.size(0));
    bool any = false;
    for (size_t i = 0; i < weights.size(); ++i) any = any || ctx->needs_input_grad(1 + i);
    if (any) {
      const auto parts = at::mm(dy.t(), x.reshape({-1, x.size(-1)})).split_with_sizes(rows, 0);
      std::copy(parts.begin(), parts.end(), out.begin() + 1);
    }
    if (biases > 0) {
      const auto parts = dy.sum(0).split_with_sizes(rows, 0);
      std::copy(parts.begin(), parts.end(), out.begin() + 1 + static_cast<int64_t>(rows.size()));
    }
    return out;
  }
};

}  // namespace

at::Tensor PlainLinearOp::apply(const Linear& layer, const at::Tensor& x) const {
  return at::linear(x, layer.weight,
                    layer.bias.defined() ? std::optional(layer.bias) : std::nullopt);
}

at::Tensor PlainLinearOp::apply_group(std::span<const Linear> layers, const at::Tensor& x) const {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const Linear& layer : layers) {
    weights.push_back(layer.weight);
    if (layer.bias.defined()) biases.push_back(layer.bias);
  }
  const bool together =
      spanning(weights).defined() &&
      (biases.empty() || (biases.size() == weights.size() && spanning(biases).defined()));
  if (!together) return LinearOp::apply_group(layers, x);
  return GroupedLinear::apply(x, at::TensorList(weights), at::TensorList(biases));
}

}  // namespace sluice
