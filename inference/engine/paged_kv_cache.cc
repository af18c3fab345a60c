#include "inference/engine/paged_kv_cache.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace sluice {

PagedKvCache::PagedKvCache(const TransformerConfig& config, int32_t blocks, int32_t block_size,
                           at::ScalarType dtype, at::Device device)
    : block_size_(block_size) {
  for (const LayerConfig& layer : config.layers) {
    Layer& own = layers_.emplace_back();
    if (layer.mixer != MixerKind::Attention) {
      linear_layers_ = true;
      continue;
    }
    own.k = at::empty({blocks, config.kv_heads, block_size, config.head_dim},
                      at::TensorOptions(dtype).device(device));
    own.v = at::empty_like(own.k);
  }
}

int64_t PagedKvCache::block_bytes(const TransformerConfig& config, int32_t block_size,
                                  at::ScalarType dtype) {
  const auto layers = std::ranges::count(config.layers, MixerKind::Attention, &LayerConfig::mixer);
  return 2 * layers * config.kv_heads * block_size * config.head_dim *
         static_cast<int64_t>(at::elementSize(dtype));
}

void PagedKvCache::begin(std::vector<Row> rows) {
  rows_ = std::move(rows);
  before_.clear();
  if (!linear_layers_) return;
  for (const Row& row : rows_) {
    States& own = states_[row.sequence];
    // Computed anew after preemption: what was remembered is of tokens to come.
    if (row.start == 0) own.clear();
    before_.push_back(own);
    own.resize(layers_.size());
  }
}

void PagedKvCache::restore() {
  for (size_t i = 0; i < before_.size(); ++i) states_[rows_[i].sequence] = before_[i];
}

void PagedKvCache::store_one(const at::Tensor& cache, const Row& row, const at::Tensor& x) const {
  const int64_t tokens = x.size(0);
  const int64_t heads = x.size(1);
  const int64_t dim = x.size(2);
  for (int64_t t = 0; t < tokens;) {
    const int64_t at = row.start + t;
    const int64_t block = row.blocks[static_cast<size_t>(at / block_size_)];
    const int64_t slot = at % block_size_;
    const int64_t count = std::min(tokens - t, block_size_ - slot);
    if (cache.scalar_type() == at::kFloat && x.scalar_type() == at::kFloat && x.stride(2) == 1) {
      const auto* from = static_cast<const float*>(x.const_data_ptr()) + t * x.stride(0);
      auto* to = cache.mutable_data_ptr<float>() + (block * heads * block_size_ + slot) * dim;
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(to + (h * block_size_ + i) * dim, from + i * x.stride(0) + h * x.stride(1),
                      static_cast<size_t>(dim) * sizeof(float));
        }
      }
    } else {
      cache.select(0, block).narrow(1, slot, count).copy_(x.narrow(0, t, count).transpose(0, 1));
    }
    t += count;
  }
}

void PagedKvCache::store(int64_t layer, int64_t i, const at::Tensor& k, const at::Tensor& v) {
  const Row& row = rows_.at(static_cast<size_t>(i));
  SLUICE_CHECK((row.start + k.size(0) + block_size_ - 1) / block_size_ <= std::ssize(row.blocks))
      << k.size(0) << " tokens behind " << row.start << " in " << row.blocks.size() << " blocks";
  store_one(keys(layer), row, k);
  store_one(values(layer), row, v);
}

void PagedKvCache::copy(std::span<const BlockCopy> copies) {
  for (const Layer& layer : layers_) {
    if (!layer.k.defined()) continue;
    for (const BlockCopy& copy : copies) {
      for (const at::Tensor* x : {&layer.k, &layer.v}) {
        x->select(0, copy.to).copy_(x->select(0, copy.from));
      }
    }
  }
}

LinearAttentionState& PagedKvCache::state(int64_t layer, int64_t i) {
  const int64_t sequence = rows_.at(static_cast<size_t>(i)).sequence;
  return states_.at(sequence).at(static_cast<size_t>(layer));
}

void PagedKvCache::fork(int64_t parent, int64_t child) {
  // The tensors may be shared: every step makes new ones.
  const auto found = states_.find(parent);
  if (found == states_.end()) return;
  States copy = found->second;
  states_[child] = std::move(copy);
}

void PagedKvCache::forget(int64_t sequence) { states_.erase(sequence); }

}  // namespace sluice
