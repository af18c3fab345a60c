#include "inference/cuda/step_inputs.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {

StepInputs StepInputs::over(at::Tensor all, const StepShape& shape) {
  StepInputs in;
  in.tokens = all.narrow(0, 0, shape.tokens);
  in.positions = all.narrow(0, shape.tokens, shape.tokens);
  in.slots = all.narrow(0, 2 * shape.tokens, shape.tokens);
  in.lengths = all.narrow(0, 3 * shape.tokens, shape.sequences);
  in.tables = all.narrow(0, 3 * shape.tokens + shape.sequences, shape.sequences * shape.width)
                  .view({shape.sequences, shape.width});
  in.all = std::move(all);
  return in;
}

StepShape step_shape(const PackedBatch& batch, std::span<const PagedKvCache::Row> rows) {
  StepShape shape{batch.total_tokens(), batch.sequences(), 1};
  for (const auto& row : rows) shape.width = std::max<int64_t>(shape.width, std::ssize(row.blocks));
  return shape;
}

void write_inputs(const PackedBatch& batch, std::span<const PagedKvCache::Row> rows,
                  const StepShape& shape, int32_t block_size, BlockId spare, int32_t* out) {
  const int64_t tokens = batch.total_tokens();
  const int64_t sequences = batch.sequences();
  SLUICE_CHECK(sequences == std::ssize(rows) && tokens <= shape.tokens &&
               shape.tokens - tokens == shape.sequences - sequences)
      << sequences << " sequences of " << tokens << " tokens in a step of " << shape.sequences
      << " and " << shape.tokens;
  int32_t* slots = out + 2 * shape.tokens;
  int32_t* lengths = out + 3 * shape.tokens;
  int32_t* tables = lengths + shape.sequences;
  std::fill_n(out, shape.size(), 0);
  const auto* ids = static_cast<const int64_t*>(batch.tokens.const_data_ptr());
  const auto* positions = static_cast<const int64_t*>(batch.positions.const_data_ptr());
  std::transform(ids, ids + tokens, out, [](int64_t id) { return static_cast<int32_t>(id); });
  std::transform(positions, positions + tokens, out + shape.tokens,
                 [](int64_t p) { return static_cast<int32_t>(p); });
  for (int64_t i = 0; i < sequences; ++i) {
    const PagedKvCache::Row& row = rows[static_cast<size_t>(i)];
    const int64_t length = row.start + batch.length(i);
    SLUICE_CHECK(length <= std::ssize(row.blocks) * block_size)
        << length << " tokens in " << row.blocks.size() << " blocks";
    for (int64_t t = row.start; t < length; ++t) {
      const BlockId block = row.blocks[static_cast<size_t>(t / block_size)];
      *slots++ = block * block_size + static_cast<int32_t>(t % block_size);
    }
    lengths[i] = static_cast<int32_t>(length);
    std::ranges::copy(row.blocks, tables + i * shape.width);
  }
  for (int64_t i = sequences; i < shape.sequences; ++i) {
    *slots++ = spare * block_size;
    lengths[i] = 1;
    tables[i * shape.width] = spare;
  }
}

}  // namespace sluice
