#include "models/transformer/packed_batch.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace sluice {

PackedBatch pack(const std::vector<std::vector<int64_t>>& sequences,
                 const std::vector<int64_t>& starts) {
  SLUICE_CHECK(starts.empty() || starts.size() == sequences.size()) << starts.size() << " starts";
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (const auto& s : sequences) {
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<int64_t>(s.size()));
  }
  batch.tokens = at::empty({batch.total_tokens()}, at::kLong);
  batch.positions = at::empty({batch.total_tokens()}, at::kLong);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t begin = batch.cu_seqlens[i];
    const int64_t length = batch.cu_seqlens[i + 1] - begin;
    std::copy(sequences[i].begin(), sequences[i].end(), batch.tokens.data_ptr<int64_t>() + begin);
    int64_t* positions = batch.positions.data_ptr<int64_t>() + begin;
    std::iota(positions, positions + length, starts.empty() ? 0 : starts[i]);
  }
  return batch;
}

}  // namespace sluice
