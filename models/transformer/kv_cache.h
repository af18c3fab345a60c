#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// What a linear-attention layer remembers of a sequence; undefined tensors before its first token.
struct LinearAttentionState {
  at::Tensor conv;       ///< [channels, kernel - 1]: the inputs that the next outputs still see
  at::Tensor recurrent;  ///< [value_heads, key_dim, value_dim], fp32
};

/// What a model remembers of the sequences of a batch: sequence i of every batch given with it is
/// the continuation of the same sequence. The keys and values belong to the AttentionOp that writes
/// them, so a cache is used with the AttentionOp it was made for. One forward at a time.
class KvCache {
 public:
  virtual ~KvCache() = default;
  [[nodiscard]] virtual LinearAttentionState& state(int64_t layer, int64_t sequence) = 0;
};

/// Keys and values of each sequence in one growing tensor; the cache of SdpaAttentionOp.
class ContiguousKvCache : public KvCache {
 public:
  ContiguousKvCache(int64_t layers, int64_t sequences);

  /// Appends k and v [tokens, kv_heads, head_dim] and returns all of the sequence's so far; valid
  /// until the next append to it.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, int64_t sequence, const at::Tensor& k,
                                           const at::Tensor& v);
  /// Tokens held of a sequence.
  [[nodiscard]] int64_t length(int64_t layer, int64_t sequence) const;
  [[nodiscard]] LinearAttentionState& state(int64_t layer, int64_t sequence) override;

 private:
  struct Slot {
    at::Tensor k;  ///< [capacity, kv_heads, head_dim]
    at::Tensor v;
    int64_t length = 0;
    LinearAttentionState state;
  };
  [[nodiscard]] size_t index(int64_t layer, int64_t sequence) const;
  int64_t layers_;
  int64_t sequences_;
  std::vector<Slot> slots_;
};

}  // namespace sluice
