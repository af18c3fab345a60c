#include "models/transformer/kv_cache.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace sluice {

ContiguousKvCache::ContiguousKvCache(int64_t layers, int64_t sequences)
    : layers_(layers), sequences_(sequences), slots_(static_cast<size_t>(layers * sequences)) {}

size_t ContiguousKvCache::index(int64_t layer, int64_t sequence) const {
  SLUICE_CHECK(layer >= 0 && layer < layers_ && sequence >= 0 && sequence < sequences_)
      << "layer " << layer << " of " << layers_ << ", sequence " << sequence << " of "
      << sequences_;
  return static_cast<size_t>(layer * sequences_ + sequence);
}

std::pair<at::Tensor, at::Tensor> ContiguousKvCache::append(int64_t layer, int64_t sequence,
                                                            const at::Tensor& k,
                                                            const at::Tensor& v) {
  const at::NoGradGuard no_grad;
  Slot& slot = slots_[index(layer, sequence)];
  const int64_t length = slot.length + k.size(0);
  const int64_t capacity = slot.k.defined() ? slot.k.size(0) : 0;
  if (length > capacity) {
    const int64_t grown = std::max({length, 2 * capacity, int64_t{64}});
    const auto grow = [&](at::Tensor& held, const at::Tensor& like) {
      at::Tensor larger =
          at::empty({grown, like.size(1), like.size(2)}, like.options().requires_grad(false));
      if (slot.length > 0) larger.narrow(0, 0, slot.length).copy_(held.narrow(0, 0, slot.length));
      held = larger;
    };
    grow(slot.k, k);
    grow(slot.v, v);
  }
  slot.k.narrow(0, slot.length, k.size(0)).copy_(k);
  slot.v.narrow(0, slot.length, v.size(0)).copy_(v);
  slot.length = length;
  return {slot.k.narrow(0, 0, length), slot.v.narrow(0, 0, length)};
}

int64_t ContiguousKvCache::length(int64_t layer, int64_t sequence) const {
  return slots_[index(layer, sequence)].length;
}

LinearAttentionState& ContiguousKvCache::state(int64_t layer, int64_t sequence) {
  return slots_[index(layer, sequence)].state;
}

}  // namespace sluice
