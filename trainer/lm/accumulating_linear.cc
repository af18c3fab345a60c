#include "trainer/lm/accumulating_linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace sluice {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Whether the gradient of a tensor can be added where it belongs.
bool collects(const at::Tensor& t) {
  return at::GradMode::is_enabled() && t.requires_grad() && t.is_leaf() && t.grad().defined() &&
         t.grad().scalar_type() == t.scalar_type();
}

/// The tensor that spans all, or the only one.
at::Tensor together(at::TensorList parts) {
  return parts.size() == 1 ? parts.front().detach() : spanning(parts);
}

std::vector<at::Tensor> gradients_of(at::TensorList parts) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& part : parts) gradients.push_back(part.grad());
  return gradients;
}

/// y = x W^T + b for a W (and b) that spans the given parts, as their gradients do.
class Product : public torch::autograd::Function<Product> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weights,
                            at::TensorList biases) {
    const at::Tensor bias = biases.empty() ? at::Tensor() : together(biases);
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    saved.insert(saved.end(), biases.begin(), biases.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["weights"] = static_cast<int64_t>(weights.size());
    return at::linear(x, together(weights), bias.defined() ? std::optional(bias) : std::nullopt);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto count = static_cast<size_t>(ctx->saved_data["weights"].toInt());
    const at::Tensor& x = saved.front();
    const at::TensorList weights(saved.data() + 1, count);
    const at::TensorList biases(saved.data() + 1 + count, saved.size() - 1 - count);
    const at::Tensor dy = grads[0].reshape({-1, grads[0].size(-1)});
    variable_list out(saved.size());
    if (ctx->needs_input_grad(0)) out[0] = at::mm(dy, together(weights)).view(x.sizes());
    together(gradients_of(weights)).addmm_(dy.t(), x.reshape({-1, x.size(-1)}));
    if (!biases.empty()) together(gradients_of(biases)).add_(dy.sum(0));
    return out;
  }
};

class Lookup : public torch::autograd::Function<Lookup> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight, const at::Tensor& ids) {
    ctx->save_for_backward({weight, ids});
    return at::embedding(weight, ids);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    saved[0].grad().index_add_(0, saved[1].flatten(), grads[0].reshape({-1, grads[0].size(-1)}));
    return {at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor AccumulatingLinearOp::apply(const Linear& layer, const at::Tensor& x) const {
  return apply_group({&layer, 1}, x);
}

at::Tensor AccumulatingLinearOp::apply_group(std::span<const Linear> layers,
                                             const at::Tensor& x) const {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const Linear& layer : layers) {
    weights.push_back(layer.weight);
    if (layer.bias.defined()) biases.push_back(layer.bias);
  }
  const auto plain = [&] {
    return layers.size() == 1 ? PlainLinearOp::apply(layers.front(), x)
                              : PlainLinearOp::apply_group(layers, x);
  };
  if (!std::all_of(weights.begin(), weights.end(), collects) ||
      !std::all_of(biases.begin(), biases.end(), collects)) {
    return plain();
  }
  if (layers.size() > 1) {
    const bool end_to_end =
        spanning(weights).defined() && spanning(gradients_of(weights)).defined() &&
        (biases.empty() || (biases.size() == weights.size() && spanning(biases).defined() &&
                            spanning(gradients_of(biases)).defined()));
    if (!end_to_end) return LinearOp::apply_group(layers, x);
  }
  return Product::apply(x, at::TensorList(weights), at::TensorList(biases));
}

at::Tensor AccumulatingLinearOp::embed(const at::Tensor& weight, const at::Tensor& ids) const {
  return collects(weight) ? Lookup::apply(weight, ids) : PlainLinearOp::embed(weight, ids);
}

}  // namespace sluice
