#include "models/nets/mlp.h"

#include "dataflow/base/result.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Rows at a stride of a multiple of 256 bytes would share few cache sets.
int64_t row_stride(int64_t padded) { return padded % 64 == 0 ? padded + 16 : padded; }

}  // namespace

Mlp::Mlp(MlpSpec spec, Isa isa) : spec_(std::move(spec)), kernels_(&mlp_kernels(isa)) {
  const Status status = spec_.check();
  SLUICE_CHECK(status.ok()) << status.message();
  SLUICE_CHECK(supported(isa)) << "this CPU has no " << std::string(name(isa));
  int64_t at = 0;
  for (int64_t i = 0; i < spec_.layers(); ++i) {
    Layer layer;
    layer.in = spec_.in(i);
    layer.out = spec_.out(i);
    layer.in_padded = kernels_->pad(layer.in);
    layer.out_padded = kernels_->pad(layer.out);
    if (i + 1 < spec_.layers()) {
      layer.epilogue = spec_.activation == Activation::Tanh ? Epilogue::Tanh : Epilogue::Relu;
    }
    layer.dots = i + 1 == spec_.layers() && layer.out <= MlpKernels::kDots;
    layer.forward.resize(static_cast<size_t>(layer.dots ? layer.out * layer.in_padded
                                                        : layer.in * layer.out_padded));
    if (i > 0) layer.backward.resize(static_cast<size_t>(layer.out * layer.in_padded));
    layer.bias.resize(static_cast<size_t>(layer.out_padded));
    layer.transposed = layer.out * layer.in_padded < layer.in * layer.out_padded;
    layer.weight_at = at;
    at +=
        round_up(layer.transposed ? layer.out * layer.in_padded : layer.in * layer.out_padded, 16);
    layer.bias_at = at;
    at += round_up(layer.out_padded, 16);
    layers_.push_back(std::move(layer));
  }
  gradient_floats_ = at;
}

void Mlp::pack(const float* parameters) {
  for (Layer& layer : layers_) {
    const float* weight = parameters;
    const float* bias = weight + layer.in * layer.out;
    if (layer.dots) {
      for (int64_t o = 0; o < layer.out; ++o) {
        float* row = layer.forward.data() + o * layer.in_padded;
        for (int64_t k = 0; k < layer.in; ++k) row[k] = weight[k * layer.out + o];
      }
    } else {
      kernels_->pack(weight, layer.out, 1, layer.in, layer.out, layer.out_padded,
                     layer.forward.data());
    }
    if (!layer.backward.empty()) {
      kernels_->pack(weight, 1, layer.out, layer.out, layer.in, layer.in_padded,
                     layer.backward.data());
    }
    std::copy(bias, bias + layer.out, layer.bias.begin());
    parameters = bias + layer.out;
  }
}

void Mlp::forward_block(const float* x, int64_t ldx, int64_t rows, MlpScratch& scratch) const {
  SLUICE_CHECK(rows <= kBlockRows) << rows;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    MlpScratch::Layer& to = scratch.layers_[i];
    if (layer.dots) {
      // The rows of x are a hidden layer's, padded with zeros up to whole vectors.
      kernels_->dots(x, ldx, rows, layer.forward.data(), layer.bias.data(), layer.out,
                     layer.in_padded, to.h.data(), to.stride);
    } else {
      kernels_->forward(x, ldx, rows, layer.in, layer.forward.data(), layer.bias.data(),
                        layer.out_padded, layer.epilogue, to.h.data(), to.stride);
    }
    x = to.h.data();
    ldx = to.stride;
  }
}

void Mlp::backward_block(const float* x, int64_t ldx, int64_t rows, MlpScratch& scratch,
                         float* gradient) const {
  for (size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const MlpScratch::Layer& at = scratch.layers_[i];
    const float* d = at.d.data();
    const float* input = i > 0 ? scratch.layers_[i - 1].h.data() : x;
    const int64_t input_stride = i > 0 ? scratch.layers_[i - 1].stride : ldx;
    float* weight = gradient + layer.weight_at;
    if (layer.transposed) {
      kernels_->accumulate(d, at.stride, layer.out, input, input_stride, layer.in_padded, rows,
                           weight, layer.in_padded);
    } else {
      kernels_->accumulate(input, input_stride, layer.in, d, at.stride, layer.out_padded, rows,
                           weight, layer.out_padded);
    }
    kernels_->column_sums(d, at.stride, layer.out_padded, rows, gradient + layer.bias_at);
    if (i == 0) break;
    MlpScratch::Layer& below = scratch.layers_[i - 1];
    kernels_->backward(d, at.stride, rows, layer.out, layer.backward.data(), below.h.data(),
                       below.stride, layer.in_padded, layers_[i - 1].epilogue, below.d.data(),
                       below.stride);
  }
}

void Mlp::unpad_gradient(const float* padded, float* parameters) const {
  for (const Layer& layer : layers_) {
    const float* weight = padded + layer.weight_at;
    for (int64_t i = 0; i < layer.in; ++i) {
      if (layer.transposed) {
        for (int64_t o = 0; o < layer.out; ++o) *parameters++ = weight[o * layer.in_padded + i];
      } else {
        const float* row = weight + i * layer.out_padded;
        parameters = std::copy(row, row + layer.out, parameters);
      }
    }
    const float* bias = padded + layer.bias_at;
    parameters = std::copy(bias, bias + layer.out, parameters);
  }
}

MlpScratch::MlpScratch(const Mlp& mlp) {
  for (const Mlp::Layer& layer : mlp.layers_) {
    Layer mine;
    mine.stride = row_stride(layer.out_padded);
    mine.h.resize(static_cast<size_t>(Mlp::kBlockRows * mine.stride));
    mine.d.resize(static_cast<size_t>(Mlp::kBlockRows * mine.stride));
    layers_.push_back(std::move(mine));
  }
}

}  // namespace sluice
