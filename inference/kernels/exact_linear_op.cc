#include "inference/kernels/exact_linear_op.h"

#include "dataflow/base/result.h"
#include "inference/kernels/linear_product.h"
#include "inference/kernels/packed_matrix.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace sluice {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const float* floats(const at::Tensor& t) { return static_cast<const float*>(t.const_data_ptr()); }

/// y[:, from : from + out] = x W^T + b.
void multiply(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, float* y,
              int64_t ldy) {
  SLUICE_CHECK(weight.is_cpu() && weight.scalar_type() == at::kFloat) << "exact products are fp32";
  const at::Tensor w = weight.contiguous();
  const at::Tensor b = bias.defined() ? bias.contiguous() : bias;
  const std::vector<LinearPanel> panels = panels_of(w.size(0));
  LinearWeights view;
  view.format = WeightFormat::Rows;
  view.in = w.size(1);
  view.panel_stride = w.size(1);
  view.data = floats(w);
  view.panels = panels.data();
  linear_product(view, static_cast<int64_t>(panels.size()), floats(x), x.numel() / view.in,
                 b.defined() ? floats(b) : nullptr, y, ldy);
}

/// All layers of one input side by side. `biases` is empty or has one, maybe undefined, per weight.
class ExactLinear : public torch::autograd::Function<ExactLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, at::TensorList weights,
                            at::TensorList biases) {
    const at::Tensor x = x_in.contiguous();
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = 0;
    for (const at::Tensor& w : weights) sizes.back() += w.size(0);
    at::Tensor y = at::empty(sizes, x.options());
    auto* at = y.mutable_data_ptr<float>();
    for (size_t i = 0; i < weights.size(); ++i) {
      multiply(x, weights[i], biases.empty() ? at::Tensor() : biases[i], at, sizes.back());
      at += weights[i].size(0);
    }
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["biases"] = !biases.empty();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const size_t layers = saved.size() - 1;
    const bool biases = ctx->saved_data["biases"].toBool();
    const at::Tensor x = saved.front().reshape({-1, saved.front().size(-1)});
    const at::Tensor dy = grads[0].reshape({-1, grads[0].size(-1)});
    variable_list out(1 + layers * (biases ? 2 : 1));
    int64_t from = 0;
    for (size_t i = 0; i < layers; ++i) {
      const at::Tensor& w = saved[1 + i];
      const at::Tensor own = dy.slice(1, from, from + w.size(0));
      from += w.size(0);
      if (ctx->needs_input_grad(0)) {
        const at::Tensor dx = at::mm(own, w);
        out[0] = out[0].defined() ? out[0].add_(dx) : dx;
      }
      if (ctx->needs_input_grad(1 + i)) out[1 + i] = at::mm(own.t(), x);
      if (biases && ctx->needs_input_grad(1 + layers + i)) out[1 + layers + i] = own.sum(0);
    }
    if (out[0].defined()) out[0] = out[0].view(saved.front().sizes());
    return out;
  }
};

}  // namespace

at::Tensor ExactLinearOp::apply(const Linear& layer, const at::Tensor& x) const {
  return apply_group(std::span(&layer, 1), x);
}

at::Tensor ExactLinearOp::apply_group(std::span<const Linear> layers, const at::Tensor& x) const {
  SLUICE_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat) << "exact products are fp32";
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  for (const Linear& layer : layers) {
    weights.push_back(layer.weight);
    if (layer.bias.defined()) biases.push_back(layer.bias);
  }
  if (!biases.empty() && biases.size() != weights.size()) return LinearOp::apply_group(layers, x);
  return ExactLinear::apply(x, at::TensorList(weights), at::TensorList(biases));
}

}  // namespace sluice
