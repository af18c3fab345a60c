#pragma once
#include "inference/kernels/attention_kernels.h"
#include "inference/kv/kv_space.h"
#include "models/transformer/config.h"
#include "models/transformer/kv_cache.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace sluice {

/// The memory behind a KvSpace: for each layer that attends, keys and values
/// [blocks, kv_heads, block_size, head_dim] in a KvFormat (Int8: and a factor for each token and
/// head); for each linear-attention layer, a state by sequence. The cache of PagedAttentionOp, on
/// the CPU unless told otherwise. One thread.
class PagedKvCache : public KvCache {
 public:
  /// One sequence of the batch that is computed next.
  struct Row {
    int64_t sequence = 0;
    int64_t start = 0;                ///< tokens it has already
    std::span<const BlockId> blocks;  ///< its table, with room for the new ones
  };

  PagedKvCache(const TransformerConfig& config, int32_t blocks, int32_t block_size, KvFormat format,
               at::Device device = at::kCPU);

  /// Bytes of one block in all layers.
  static int64_t block_bytes(const TransformerConfig& config, int32_t block_size, KvFormat format);

  /// Names the sequences of the next batch. Their states are kept until the next begin().
  void begin(std::vector<Row> rows);
  /// Takes the states back to where begin() found them.
  void restore();
  [[nodiscard]] std::span<const Row> rows() const noexcept { return rows_; }

  /// Stores k and v [tokens, kv_heads, head_dim] of sequence i behind those it has.
  void store(int64_t layer, int64_t i, const at::Tensor& k, const at::Tensor& v);
  virtual void copy(std::span<const BlockCopy> copies);

  /// [blocks, kv_heads, block_size, head_dim]; undefined for layers that do not attend.
  [[nodiscard]] const at::Tensor& keys(int64_t layer) const { return layer_at(layer).k.numbers; }
  [[nodiscard]] const at::Tensor& values(int64_t layer) const { return layer_at(layer).v.numbers; }
  [[nodiscard]] int32_t block_size() const noexcept { return block_size_; }
  [[nodiscard]] KvFormat format() const noexcept { return format_; }
  [[nodiscard]] int64_t layers() const noexcept { return static_cast<int64_t>(layers_.size()); }

  /// What the kernels read of a layer that attends.
  [[nodiscard]] PagedKvView view(int64_t layer) const;
  /// The first `length` tokens of sequence i as floats [1, kv_heads, length, head_dim].
  [[nodiscard]] at::Tensor keys_of(int64_t layer, int64_t i, int64_t length) const {
    return gather(layer_at(layer).k, i, length);
  }
  [[nodiscard]] at::Tensor values_of(int64_t layer, int64_t i, int64_t length) const {
    return gather(layer_at(layer).v, i, length);
  }

  [[nodiscard]] LinearAttentionState& state(int64_t layer, int64_t i) override;
  /// `child` starts from the states of `parent`.
  void fork(int64_t parent, int64_t child);
  void forget(int64_t sequence);
  /// Sequences that have states.
  [[nodiscard]] int64_t states() const noexcept { return static_cast<int64_t>(states_.size()); }

 private:
  struct Part {
    at::Tensor numbers;
    at::Tensor factors;  ///< Int8: [blocks, kv_heads, block_size]
  };
  struct Layer {
    Part k;
    Part v;
  };
  using States = std::vector<LinearAttentionState>;
  [[nodiscard]] const Layer& layer_at(int64_t layer) const {
    return layers_.at(static_cast<size_t>(layer));
  }
  [[nodiscard]] at::Tensor gather(const Part& part, int64_t i, int64_t length) const;
  void store_one(const Part& part, const Row& row, const at::Tensor& x) const;

  int32_t block_size_;
  KvFormat format_;
  bool linear_layers_ = false;
  std::vector<Layer> layers_;
  std::vector<Row> rows_;
  std::unordered_map<int64_t, States> states_;  ///< by sequence; one for each layer
  std::vector<States> before_;                  ///< of rows_, as begin() found them
};

}  // namespace sluice
