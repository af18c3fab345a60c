#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// Sequences of different lengths laid end to end without padding: sequence i is the tokens
/// [cu_seqlens[i], cu_seqlens[i + 1]).
struct PackedBatch {
  at::Tensor tokens;                ///< int64 [tokens]
  at::Tensor positions;             ///< int64 [tokens]: place of each token in its own sequence
  std::vector<int64_t> cu_seqlens;  ///< sequences + 1 numbers, from 0 to tokens

  [[nodiscard]] int64_t sequences() const noexcept {
    return static_cast<int64_t>(cu_seqlens.size()) - 1;
  }
  [[nodiscard]] int64_t total_tokens() const noexcept { return cu_seqlens.back(); }
  [[nodiscard]] int64_t length(int64_t i) const {
    return cu_seqlens[static_cast<size_t>(i) + 1] - cu_seqlens[static_cast<size_t>(i)];
  }
};

/// Sequences of token ids end to end. `starts` gives the position of each sequence's first token
/// (how many of its tokens a cache holds already); empty: 0 for all.
[[nodiscard]] PackedBatch pack(const std::vector<std::vector<int64_t>>& sequences,
                               const std::vector<int64_t>& starts = {});

}  // namespace sluice
