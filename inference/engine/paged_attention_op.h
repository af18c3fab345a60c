#pragma once
#include "models/transformer/ops.h"

#include <cstdint>
#include <limits>

namespace sluice {

/// Attention over a PagedKvCache: stores the new keys and values in the blocks of their sequences,
/// then attends by paged_attention(), each query alone: its bits do not depend on the batch, on
/// chunks, or on where its keys lie, and equal ExactAttentionOp's. fp32 queries on the CPU.
/// Stateless: any thread, each with its own cache.
class PagedAttentionOp : public AttentionOp {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  /// Sequences with at least `fused_from` queries at once are attended to by LibTorch's fused
  /// kernel over gathered keys instead: equal up to rounding. Never, by default: on AVX2 it is
  /// slower for up to 512 queries at once.
  explicit PagedAttentionOp(int64_t fused_from = kNever) : fused_from_(fused_from) {}

  [[nodiscard]] at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const PackedBatch& batch,
                                 KvCache* cache) const override;

 private:
  int64_t fused_from_;
};

}  // namespace sluice
