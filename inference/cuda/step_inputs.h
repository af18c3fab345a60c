#pragma once
#include "inference/engine/paged_kv_cache.h"
#include "models/transformer/packed_batch.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sluice {

/// How large a step is.
struct StepShape {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t width = 0;  ///< blocks of the longest table

  [[nodiscard]] int64_t size() const noexcept { return 3 * tokens + sequences * (1 + width); }
};

/// The numbers of one step in one int32 tensor, so that one copy takes them to the device; the
/// others are parts of it.
struct StepInputs {
  /// `all` has shape.size() elements.
  static StepInputs over(at::Tensor all, const StepShape& shape);

  at::Tensor all;
  at::Tensor tokens;     ///< [tokens]
  at::Tensor positions;  ///< [tokens]
  at::Tensor slots;      ///< [tokens]: where keys and values go (DeviceBackend::store)
  at::Tensor lengths;    ///< [sequences]: tokens of each, the new ones included
  at::Tensor tables;     ///< [sequences, width]: its blocks; 0 behind them
};

/// The shape of a step over `rows`.
[[nodiscard]] StepShape step_shape(const PackedBatch& batch,
                                   std::span<const PagedKvCache::Row> rows);

/// Writes a step to out [shape.size()], laid out as StepInputs. Where `shape` has more sequences
/// than the step (and as many more tokens), they are of one token, 0, in block `spare`.
void write_inputs(const PackedBatch& batch, std::span<const PagedKvCache::Row> rows,
                  const StepShape& shape, int32_t block_size, BlockId spare, int32_t* out);

}  // namespace sluice
