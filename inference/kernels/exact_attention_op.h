#pragma once
#include "models/transformer/ops.h"

namespace sluice {

/// Attention without a cache by paged_attention(): each query has the same bits as when the engine
/// decodes it from its blocks in fp32. The backward is that of SdpaAttentionOp. CPU, fp32; `cache`
/// must be null. Stateless: any thread.
class ExactAttentionOp : public AttentionOp {
 public:
  [[nodiscard]] at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const PackedBatch& batch,
                                 KvCache* cache) const override;
};

}  // namespace sluice
