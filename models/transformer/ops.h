#pragma once
#include "models/transformer/packed_batch.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <string>

namespace sluice {

/// One linear layer of a model: `weight` [out, in], `bias` [out] or undefined. `name` is the path
/// of its module as Hugging Face spells it ("model.layers.0.self_attn.q_proj").
struct Linear {
  std::string name;
  at::Tensor weight;
  at::Tensor bias;
};

/// How a model multiplies by a linear layer. The model calls it for every projection and for its
/// head; the trainer replaces it by one that shards, the engine by one over packed weights, LoRA by
/// one that adds an adapter.
class LinearOp {
 public:
  virtual ~LinearOp() = default;
  /// x [..., in] -> x W^T + b [..., out], in the dtype of x.
  [[nodiscard]] virtual at::Tensor apply(const Linear& layer, const at::Tensor& x) const = 0;
  /// Layers of one input (q, k and v; gate and up): their outputs side by side, [..., sum of out].
  /// Unless overridden, each is applied alone.
  [[nodiscard]] virtual at::Tensor apply_group(std::span<const Linear> layers,
                                               const at::Tensor& x) const;
  /// Rows `ids` (int64 [..]) of an embedding [vocabulary, width] -> [.., width]. Unless overridden,
  /// as it is defined.
  [[nodiscard]] virtual at::Tensor embed(const at::Tensor& weight, const at::Tensor& ids) const;
};

/// What one layer's attention is, apart from its tensors.
struct AttentionSpec {
  int64_t layer = 0;     ///< index among the model's layers
  int64_t heads = 0;     ///< query heads
  int64_t kv_heads = 0;  ///< divides `heads`: grouped-query attention (arXiv 2305.13245)
  int64_t head_dim = 0;
  double scale = 0;    ///< factor of q k^T
  int64_t window = 0;  ///< a token sees itself and window - 1 before it; 0: everything before it
  double logit_softcap = 0;  ///< cap * tanh(score / cap) (Gemma 2, arXiv 2408.00118); 0: none
};

class KvCache;

/// How a model attends. `cache` is null (training, scoring: keys are those of the batch) or holds
/// the earlier keys of every sequence; then the new ones are appended to it first.
class AttentionOp {
 public:
  virtual ~AttentionOp() = default;
  /// q [tokens, heads, head_dim], k and v [tokens, kv_heads, head_dim], causal inside each sequence
  /// of the batch -> [tokens, heads, head_dim]. Sequences with a parent come without a cache.
  [[nodiscard]] virtual at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const PackedBatch& batch, KvCache* cache) const = 0;
};

}  // namespace sluice
