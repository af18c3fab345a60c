#include "inference/engine/paged_attention_op.h"

#include "dataflow/base/result.h"
#include "inference/engine/paged_kv_cache.h"
#include "inference/kernels/paged_attention.h"
#include "models/transformer/attention_ops.h"

#include <ATen/ATen.h>

#include <vector>

namespace sluice {

at::Tensor PagedAttentionOp::apply(const AttentionSpec& spec, const at::Tensor& q,
                                   const at::Tensor& k, const at::Tensor& v,
                                   const PackedBatch& batch, KvCache* cache) const {
  SLUICE_CHECK(cache != nullptr && q.is_cpu()) << "paged attention needs a cache on the CPU";
  auto& paged = static_cast<PagedKvCache&>(*cache);
  const PagedKvView view = paged.view(spec.layer);
  const at::Tensor queries = q.to(at::kFloat).contiguous();
  at::Tensor out = at::empty_like(queries);
  const int64_t row_size = spec.heads * spec.head_dim;
  const auto* from = static_cast<const float*>(queries.const_data_ptr());
  auto* to = static_cast<float*>(out.mutable_data_ptr());
  std::vector<PagedRow> rows;
  int64_t first = 0;  // of `rows`
  const auto attend_rows = [&] {
    if (rows.empty()) return;
    paged_attention(spec, from + first * row_size, view, rows, to + first * row_size);
    first += std::ssize(rows);
    rows.clear();
  };
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    const int64_t end = begin + batch.length(i);
    if (begin == end) continue;
    paged.store(spec.layer, i, k.slice(0, begin, end), v.slice(0, begin, end));
    const PagedKvCache::Row& own = paged.rows()[static_cast<size_t>(i)];
    if (end - begin < fused_from_) {
      for (int64_t t = begin; t < end; ++t) {
        rows.push_back({own.blocks.data(), own.start + t - begin + 1});
      }
      continue;
    }
    attend_rows();
    const int64_t length = own.start + end - begin;
    const at::Tensor attended =
        attend(spec, queries.slice(0, begin, end).transpose(0, 1).unsqueeze(0),
               paged.keys_of(spec.layer, i, length), paged.values_of(spec.layer, i, length));
    out.slice(0, begin, end).copy_(attended.squeeze(0).transpose(0, 1));
    first = end;
  }
  attend_rows();
  return out.to(q.scalar_type());
}

}  // namespace sluice
