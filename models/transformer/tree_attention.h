#pragma once
#include "models/transformer/ops.h"

namespace sluice {

/// Whether tree_attention() takes these: fp32 on the CPU, no soft cap, heads of whole vectors, and
/// the sequences that continue one lie right behind it.
[[nodiscard]] bool tree_attention_takes(const AttentionSpec& spec, const at::Tensor& q,
                                        const PackedBatch& batch);

/// Attention over a batch whose sequences may continue others (PackedBatch::parents), as one node
/// of the graph: each query sees the tokens of its sequence up to itself and those of all that it
/// continues. All sequences that continue one meet its keys in one product, and only keys that are
/// seen are multiplied (but for the upper half of each sequence's own block). Scores are made block
/// by block of rows, again in the backward pass; of them only the log-sums are kept. Shapes as in
/// AttentionOp::apply.
[[nodiscard]] at::Tensor tree_attention(const AttentionSpec& spec, const at::Tensor& q,
                                        const at::Tensor& k, const at::Tensor& v,
                                        const PackedBatch& batch);

}  // namespace sluice
