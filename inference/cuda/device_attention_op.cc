#include "inference/cuda/device_attention_op.h"

#include "inference/cuda/device_kv_cache.h"
#include "models/transformer/attention_ops.h"

#include <ATen/ATen.h>

#include <optional>
#include <vector>

namespace sluice {
namespace {

/// The first `length` tokens of a sequence's keys or values: [1, kv_heads, length, head_dim].
at::Tensor gather_blocks(const at::Tensor& cache, const at::Tensor& table, int64_t length) {
  const int64_t blocks = (length + cache.size(2) - 1) / cache.size(2);
  return cache.index_select(0, table.narrow(0, 0, blocks))
      .transpose(0, 1)
      .flatten(1, 2)
      .narrow(1, 0, length)
      .unsqueeze(0);
}

/// Which keys each query may see, bool [queries, keys]; the queries are the last of the keys.
at::Tensor seen_keys(int64_t queries, int64_t keys, int64_t window, const at::Device& device) {
  const at::TensorOptions options = at::TensorOptions(at::kInt).device(device);
  const at::Tensor own = at::arange(keys - queries, keys, options).unsqueeze(1);
  const at::Tensor key = at::arange(keys, options).unsqueeze(0);
  at::Tensor seen = key <= own;
  if (window > 0) seen = seen.logical_and(key > own - window);
  return seen;
}

/// A chunk of one sequence: q [tokens, heads, head_dim], the last of its `length` tokens.
at::Tensor attend_chunk(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& keys,
                        const at::Tensor& values, const at::Tensor& table, int64_t length) {
  const at::Tensor queries = q.to(keys.scalar_type()).transpose(0, 1).unsqueeze(0);
  const at::Tensor k = gather_blocks(keys, table, length);
  const at::Tensor v = gather_blocks(values, table, length);
  at::Tensor out;
  if (spec.logit_softcap > 0) {
    out = attend(spec, queries, k, v);
  } else {
    // The causal mode aligns the first query with the first key.
    const bool causal = q.size(0) == length && (spec.window == 0 || length <= spec.window);
    std::optional<at::Tensor> mask;
    if (!causal) mask = seen_keys(q.size(0), length, spec.window, q.device());
    out = at::scaled_dot_product_attention(queries, k, v, mask, 0.0, causal, spec.scale,
                                           spec.heads != spec.kv_heads);
  }
  return out.squeeze(0).transpose(0, 1).to(q.scalar_type());
}

}  // namespace

at::Tensor DeviceAttentionOp::apply(const AttentionSpec& spec, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v,
                                    const PackedBatch& batch, KvCache* cache) const {
  SLUICE_CHECK(cache != nullptr) << "attention on a device needs its cache";
  auto& own = static_cast<DeviceKvCache&>(*cache);
  const StepInputs& in = own.inputs();
  const at::Tensor& keys = own.keys(spec.layer);
  const at::Tensor& values = own.values(spec.layer);
  own.backend().store(k, v, in.slots, keys, values);
  std::vector<at::Tensor> parts;
  for (int64_t i = 0; i < batch.sequences();) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    int64_t end = i + 1;
    if (batch.length(i) == 1) {
      while (end < batch.sequences() && batch.length(end) == 1) ++end;
      const PagedRows rows{keys, values, in.tables.slice(0, i, end), in.lengths.slice(0, i, end)};
      parts.push_back(own.backend().attend(spec, q.narrow(0, begin, end - i), rows));
    } else {
      const int64_t count = batch.length(i);
      const int64_t length = own.rows()[static_cast<size_t>(i)].start + count;
      parts.push_back(attend_chunk(spec, q.narrow(0, begin, count), keys, values,
                                   in.tables.select(0, i), length));
    }
    i = end;
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

}  // namespace sluice
