#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// Sequences of different lengths laid end to end without padding: sequence i is the tokens
/// [cu_seqlens[i], cu_seqlens[i + 1]). A sequence may continue an earlier one of the batch, its
/// parent, whose tokens (and those of the parent's parent) it then sees: many answers to one prompt
/// need its tokens once.
struct PackedBatch {
  at::Tensor tokens;                ///< int64 [tokens]
  at::Tensor positions;             ///< int64 [tokens]: place of each token in its own sequence
  std::vector<int64_t> cu_seqlens;  ///< sequences + 1 numbers, from 0 to tokens
  /// Of each sequence, the number of the one that it continues, or -1; empty: none continues
  /// another. Positions count on from the parent's.
  std::vector<int64_t> parents{};

  [[nodiscard]] int64_t sequences() const noexcept {
    return static_cast<int64_t>(cu_seqlens.size()) - 1;
  }
  [[nodiscard]] int64_t total_tokens() const noexcept { return cu_seqlens.back(); }
  [[nodiscard]] int64_t length(int64_t i) const {
    return cu_seqlens[static_cast<size_t>(i) + 1] - cu_seqlens[static_cast<size_t>(i)];
  }
  [[nodiscard]] int64_t parent(int64_t i) const {
    return parents.empty() ? -1 : parents[static_cast<size_t>(i)];
  }
};

/// Sequences of token ids end to end. `starts` gives the position of each sequence's first token
/// (how many of its tokens a cache holds already); empty: 0 for all.
[[nodiscard]] PackedBatch pack(const std::vector<std::vector<int64_t>>& sequences,
                               const std::vector<int64_t>& starts = {});

}  // namespace sluice
