#pragma once
#include "models/transformer/ops.h"

namespace sluice {

/// Attention over a DeviceKvCache: new keys and values go to their slots; sequences with one new
/// token are attended to by the backend's paged kernel, all at once; chunks of prompts by
/// LibTorch's fused attention over keys gathered from their blocks. Stateless: any thread, each
/// with its cache.
class DeviceAttentionOp : public AttentionOp {
 public:
  [[nodiscard]] at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q,
                                 const at::Tensor& k, const at::Tensor& v, const PackedBatch& batch,
                                 KvCache* cache) const override;
};

}  // namespace sluice
