#pragma once
#include "inference/kernels/attention_kernels.h"
#include "models/transformer/ops.h"

#include <span>

namespace sluice {

/// One query token: the block table of its sequence and how many of its keys it sees (itself
/// included, so at least one). Rows of one sequence that follow each other should share the
/// pointer: their keys are then read once for several of them.
struct PagedRow {
  const int32_t* blocks = nullptr;
  int64_t length = 0;
};

/// Attention of single query tokens over keys in blocks, decoding or prefilling.
/// q and out [rows, heads, head_dim]; `log_sums`, if not null, [rows, heads]: log of the sum of
/// exponentials of each query's scores. A row's result depends on its own query and keys alone, bit
/// for bit: neither on the other rows, the block size, the number of threads, nor the Isa.
/// Runs on LibTorch's threads.
void paged_attention(const AttentionSpec& spec, const float* q, const PagedKvView& kv,
                     std::span<const PagedRow> rows, float* out, float* log_sums = nullptr);

}  // namespace sluice
