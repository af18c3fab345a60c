#pragma once
#include "models/transformer/ops.h"

namespace sluice {

/// Attention one sequence at a time by LibTorch's fused kernel (FlashAttention, arXiv 2205.14135),
/// which never holds the scores; a soft cap is computed plainly. Scores and softmax are fp32. The
/// cache, if any, is a ContiguousKvCache. Stateless: any thread.
class SdpaAttentionOp : public AttentionOp {
 public:
  [[nodiscard]] at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const PackedBatch& batch,
                                 KvCache* cache) const override;
};

/// The same by its definition, with all scores in memory: what the others are compared with.
class PlainAttentionOp : public AttentionOp {
 public:
  [[nodiscard]] at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const PackedBatch& batch,
                                 KvCache* cache) const override;
};

/// Attention of one sequence's queries, the last of its keys, as SdpaAttentionOp computes it: q
/// [1, heads, queries, head_dim], k and v [1, kv_heads, keys, head_dim] -> like q. No gradients.
[[nodiscard]] at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                                const at::Tensor& v);

/// Which keys a query may see: 0 where it may, -inf elsewhere, fp32 [queries, keys]. The queries
/// are the last of the keys.
[[nodiscard]] at::Tensor attention_mask(int64_t queries, int64_t keys, int64_t window);

}  // namespace sluice
