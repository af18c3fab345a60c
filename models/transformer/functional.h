#pragma once
#include "models/transformer/config.h"
#include "models/transformer/rope.h"

#include <ATen/core/Tensor.h>

/// The parts of a layer that are neither a product with a weight nor attention. Each has one plain
/// definition out of LibTorch's operations and, for fp32 on the CPU, a fused kernel with its own
/// backward.
namespace sluice {

struct Norm {
  NormKind kind = NormKind::Rms;
  double eps = 1e-6;
  bool unit_offset = false;  ///< multiply by 1 + weight
  at::Tensor weight;
  at::Tensor bias;  ///< undefined for RMSNorm
};

/// Normalises the last dimension, in fp32 (fp64 stays fp64), result in the dtype of x.
[[nodiscard]] at::Tensor normalise(const Norm& norm, const at::Tensor& x);

struct AddedNorm {
  at::Tensor sum;
  at::Tensor normed;
};
/// sum = x + y, normed = normalise(sum).
[[nodiscard]] AddedNorm add_normalise(const Norm& norm, const at::Tensor& x, const at::Tensor& y);

[[nodiscard]] at::Tensor activate(MlpActivation activation, const at::Tensor& x);
/// [..., 2 n] -> act(first n) * last n.
[[nodiscard]] at::Tensor gated_activation(MlpActivation activation, const at::Tensor& gate_up);

struct HeadShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};
struct Heads {
  at::Tensor q;  ///< [tokens, heads, head_dim]
  at::Tensor k;  ///< [tokens, kv_heads, head_dim]
  at::Tensor v;
};
/// qkv [tokens, (heads + 2 kv_heads) * head_dim] taken apart; q and k rotated by halves when `rope`
/// is given.
[[nodiscard]] Heads split_heads(const at::Tensor& qkv, const HeadShape& shape,
                                const RopeTable* rope);

/// x [tokens, heads, head_dim]: the first 2 * cos.size(1) numbers of each head rotated by halves.
[[nodiscard]] at::Tensor rotate(const at::Tensor& x, const RopeTable& rope);

/// The plain definitions: what the fused forms are compared with.
namespace plain {
[[nodiscard]] at::Tensor normalise(const Norm& norm, const at::Tensor& x);
[[nodiscard]] at::Tensor gated_activation(MlpActivation activation, const at::Tensor& gate_up);
[[nodiscard]] Heads split_heads(const at::Tensor& qkv, const HeadShape& shape,
                                const RopeTable* rope);
}  // namespace plain

}  // namespace sluice
