#include "models/transformer/functional.h"

#include "models/transformer/fused.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

namespace sluice {
namespace {

bool fuses(const Norm& norm, const at::Tensor& x) {
  return norm.kind == NormKind::Rms && fused::takes(x) && fused::takes(norm.weight);
}

}  // namespace

at::Tensor plain::normalise(const Norm& norm, const at::Tensor& x) {
  if (norm.kind == NormKind::Layer) {
    return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm.eps);
  }
  const at::ScalarType as = at::toOpMathType(x.scalar_type());
  const at::Tensor wide = x.to(as);
  const at::Tensor scaled = wide * at::rsqrt(wide.square().mean(-1, true) + norm.eps);
  if (norm.unit_offset) {
    return (scaled * (1 + norm.weight.to(as))).to(x.scalar_type());
  }
  return norm.weight * scaled.to(x.scalar_type());
}

at::Tensor normalise(const Norm& norm, const at::Tensor& x) {
  return fuses(norm, x) ? fused::rms_norm(norm, x) : plain::normalise(norm, x);
}

AddedNorm add_normalise(const Norm& norm, const at::Tensor& x, const at::Tensor& y) {
  if (fuses(norm, x) && fused::takes(y)) return fused::add_rms_norm(norm, x, y);
  at::Tensor sum = x + y;
  at::Tensor normed = normalise(norm, sum);
  return {std::move(sum), std::move(normed)};
}

at::Tensor activate(MlpActivation activation, const at::Tensor& x) {
  switch (activation) {
    case MlpActivation::Silu:
      return at::silu(x);
    case MlpActivation::GeluTanh:
      return at::gelu(x, "tanh");
    case MlpActivation::Gelu:
      return at::gelu(x);
    case MlpActivation::Relu:
      return at::relu(x);
  }
  return x;
}

at::Tensor gated_activation(MlpActivation activation, const at::Tensor& gate_up) {
  if (activation == MlpActivation::Silu && fused::takes(gate_up)) return fused::swiglu(gate_up);
  return plain::gated_activation(activation, gate_up);
}

at::Tensor plain::gated_activation(MlpActivation activation, const at::Tensor& gate_up) {
  const auto halves = gate_up.chunk(2, -1);
  return activate(activation, halves[0]) * halves[1];
}

at::Tensor rotate(const at::Tensor& x, const RopeTable& rope) {
  const int64_t half = rope.cos.size(1);
  const at::Tensor cos = rope.cos.to(x.scalar_type()).unsqueeze(1);
  const at::Tensor sin = rope.sin.to(x.scalar_type()).unsqueeze(1);
  const at::Tensor a = x.narrow(-1, 0, half);
  const at::Tensor b = x.narrow(-1, half, half);
  std::vector<at::Tensor> parts = {a * cos - b * sin, b * cos + a * sin};
  const int64_t rest = x.size(-1) - 2 * half;
  if (rest > 0) parts.push_back(x.narrow(-1, 2 * half, rest));
  return at::cat(parts, -1);
}

Heads split_heads(const at::Tensor& qkv, const HeadShape& shape, const RopeTable* rope) {
  return fused::takes(qkv) ? fused::split_heads(qkv, shape, rope)
                           : plain::split_heads(qkv, shape, rope);
}

Heads plain::split_heads(const at::Tensor& qkv, const HeadShape& shape, const RopeTable* rope) {
  const int64_t q = shape.heads * shape.head_dim;
  const int64_t kv = shape.kv_heads * shape.head_dim;
  const auto parts = qkv.split_with_sizes({q, kv, kv}, -1);
  const auto heads = [&](const at::Tensor& x, int64_t n) {
    return x.unflatten(-1, {n, shape.head_dim});
  };
  Heads out{heads(parts[0], shape.heads), heads(parts[1], shape.kv_heads),
            heads(parts[2], shape.kv_heads)};
  if (rope != nullptr) {
    out.q = rotate(out.q, *rope);
    out.k = rotate(out.k, *rope);
  }
  return out;
}

}  // namespace sluice
