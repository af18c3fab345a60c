#include "inference/engine/paged_kv_cache.h"

#include "inference/kernels/kv_store.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sluice {
namespace {

at::ScalarType type_of(KvFormat format) {
  if (format == KvFormat::Fp32) return at::kFloat;
  return format == KvFormat::Bf16 ? at::kBFloat16 : at::kChar;
}

}  // namespace

PagedKvCache::PagedKvCache(const TransformerConfig& config, int32_t blocks, int32_t block_size,
                           KvFormat format, at::Device device)
    : block_size_(block_size), format_(format) {
  for (const LayerConfig& layer : config.layers) {
    Layer& own = layers_.emplace_back();
    if (layer.mixer != MixerKind::Attention) {
      linear_layers_ = true;
      continue;
    }
    for (Part* part : {&own.k, &own.v}) {
      part->numbers = at::empty({blocks, config.kv_heads, block_size, config.head_dim},
                                at::TensorOptions(type_of(format)).device(device));
      if (format == KvFormat::Int8) {
        part->factors = at::empty({blocks, config.kv_heads, block_size}, at::kFloat);
      }
    }
  }
}

int64_t PagedKvCache::block_bytes(const TransformerConfig& config, int32_t block_size,
                                  KvFormat format) {
  const auto layers = std::ranges::count(config.layers, MixerKind::Attention, &LayerConfig::mixer);
  return 2 * layers * config.kv_heads * block_size *
         (config.head_dim * element_size(format) + factor_size(format));
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

PagedKvView PagedKvCache::view(int64_t layer) const {
  const Layer& own = layer_at(layer);
  PagedKvView view;
  view.format = format_;
  view.k = own.k.numbers.const_data_ptr();
  view.v = own.v.numbers.const_data_ptr();
  view.block_size = block_size_;
  view.block_stride = own.k.numbers.stride(0);
  view.head_stride = own.k.numbers.stride(1);
  view.slot_stride = own.k.numbers.stride(2);
  if (format_ == KvFormat::Int8) {
    view.k_factors = static_cast<const float*>(own.k.factors.const_data_ptr());
    view.v_factors = static_cast<const float*>(own.v.factors.const_data_ptr());
  }
  return view;
}

at::Tensor PagedKvCache::gather(const Part& part, int64_t i, int64_t length) const {
  const Row& row = rows_.at(static_cast<size_t>(i));
  const at::Tensor& from = part.numbers;
  at::Tensor out = at::empty({1, from.size(1), length, from.size(3)}, at::kFloat);
  for (int64_t begin = 0; begin < length; begin += block_size_) {
    const int64_t count = std::min<int64_t>(block_size_, length - begin);
    const int64_t block = row.blocks[static_cast<size_t>(begin / block_size_)];
    const at::Tensor to = out[0].narrow(1, begin, count);
    to.copy_(from.select(0, block).narrow(1, 0, count));
    if (part.factors.defined()) {
      to.mul_(part.factors.select(0, block).narrow(1, 0, count).unsqueeze(-1));
    }
  }
  return out;
}

void PagedKvCache::store_one(const Part& part, const Row& row, const at::Tensor& x) const {
  const int64_t heads = x.size(1);
  const int64_t dim = x.size(2);
  const at::Tensor floats = x.to(at::kFloat);
  const at::Tensor rows = floats.stride(2) == 1 ? floats : floats.contiguous();
  const auto* from = static_cast<const float*>(rows.const_data_ptr());
  auto* to = static_cast<std::byte*>(part.numbers.mutable_data_ptr());
  auto* factors =
      part.factors.defined() ? static_cast<float*>(part.factors.mutable_data_ptr()) : nullptr;
  const int64_t size = dim * element_size(format_);
  for (int64_t t = 0; t < rows.size(0); ++t) {
    const int64_t at = row.start + t;
    const int64_t block = row.blocks[static_cast<size_t>(at / block_size_)];
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t slot = (block * heads + h) * block_size_ + at % block_size_;
      store_kv(format_, from + t * rows.stride(0) + h * rows.stride(1), dim, to + slot * size,
               factors == nullptr ? nullptr : factors + slot);
    }
  }
}

void PagedKvCache::store(int64_t layer, int64_t i, const at::Tensor& k, const at::Tensor& v) {
  const Row& row = rows_.at(static_cast<size_t>(i));
  SLUICE_CHECK((row.start + k.size(0) + block_size_ - 1) / block_size_ <= std::ssize(row.blocks))
      << k.size(0) << " tokens behind " << row.start << " in " << row.blocks.size() << " blocks";
  store_one(layer_at(layer).k, row, k);
  store_one(layer_at(layer).v, row, v);
}

void PagedKvCache::copy(std::span<const BlockCopy> copies) {
  for (const Layer& layer : layers_) {
    for (const at::Tensor* x :
         {&layer.k.numbers, &layer.v.numbers, &layer.k.factors, &layer.v.factors}) {
      if (!x->defined()) continue;
      for (const BlockCopy& copy : copies) x->select(0, copy.to).copy_(x->select(0, copy.from));
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
