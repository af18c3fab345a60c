#include "models/transformer/attention_ops.h"

#include "dataflow/base/result.h"
#include "models/transformer/kv_cache.h"
#include "models/transformer/tree_attention.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace sluice {

at::Tensor attention_mask(int64_t queries, int64_t keys, int64_t window) {
  at::Tensor mask = at::zeros({queries, keys}, at::kFloat);
  auto* row = mask.data_ptr<float>();
  for (int64_t i = 0; i < queries; ++i, row += keys) {
    const int64_t own = keys - queries + i;
    const int64_t first = window > 0 ? std::max<int64_t>(0, own - window + 1) : 0;
    std::fill(row, row + first, -std::numeric_limits<float>::infinity());
    std::fill(row + own + 1, row + keys, -std::numeric_limits<float>::infinity());
  }
  return mask;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// [tokens, heads, dim] of one sequence -> [1, heads, tokens, dim], without a copy.
at::Tensor by_head(const at::Tensor& x, int64_t begin, int64_t end) {
  return x.slice(0, begin, end).transpose(0, 1).unsqueeze(0);
}
at::Tensor by_head(const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); }

/// The rows of x that belong to sequence i and to those it continues, in the order of positions.
at::Tensor seen(const at::Tensor& x, const PackedBatch& batch, int64_t i) {
  std::vector<at::Tensor> parts;
  for (int64_t s = i; s >= 0; s = batch.parent(s)) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(s)];
    parts.push_back(x.slice(0, begin, begin + batch.length(s)));
  }
  if (parts.size() == 1) return parts.front();
  std::reverse(parts.begin(), parts.end());
  return at::cat(parts);
}

/// What the fused kernel needs to know about the keys that its queries see.
struct Masking {
  bool causal = false;
  std::optional<at::Tensor> mask;
};
Masking masking(int64_t queries, int64_t keys, int64_t window, at::ScalarType type) {
  const bool windowed = window > 0 && keys > window;
  // The kernel's causal mode aligns the first query with the first key.
  if (!windowed && queries == keys) return {true, std::nullopt};
  if (!windowed && queries == 1) return {false, std::nullopt};
  return {false, attention_mask(queries, keys, window).to(at::toOpMathType(type))};
}

/// The fused kernel over all sequences of a batch without cache, as one node of the graph.
class PackedSdpa : public torch::autograd::Function<PackedSdpa> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, std::vector<int64_t> cu_seqlens, int64_t window,
                            double scale) {
    at::Tensor out = at::empty_like(q, at::MemoryFormat::Contiguous);
    at::Tensor sums =
        at::empty({q.size(0), q.size(1)}, q.options().dtype(at::toOpMathType(q.scalar_type())));
    for (size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
      const int64_t begin = cu_seqlens[i];
      const int64_t end = cu_seqlens[i + 1];
      if (begin == end) continue;
      const Masking m = masking(end - begin, end - begin, window, q.scalar_type());
      const auto [o, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
          by_head(q, begin, end), by_head(k, begin, end), by_head(v, begin, end), 0.0, m.causal,
          m.mask, scale);
      out.slice(0, begin, end).copy_(o.squeeze(0).transpose(0, 1));
      sums.slice(0, begin, end).copy_(lse.squeeze(0).t());
    }
    ctx->save_for_backward({q, k, v, out, sums});
    ctx->saved_data["cu_seqlens"] = cu_seqlens;
    ctx->saved_data["window"] = window;
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto cu_seqlens = ctx->saved_data["cu_seqlens"].toIntVector();
    const int64_t window = ctx->saved_data["window"].toInt();
    const double scale = ctx->saved_data["scale"].toDouble();
    const at::Tensor dout = grads[0].contiguous();
    variable_list out;
    for (size_t t = 0; t < 3; ++t) {
      out.push_back(at::empty_like(saved[t], at::MemoryFormat::Contiguous));
    }
    for (size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
      const int64_t begin = cu_seqlens[i];
      const int64_t end = cu_seqlens[i + 1];
      if (begin == end) continue;
      const Masking m = masking(end - begin, end - begin, window, saved[0].scalar_type());
      const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          by_head(dout, begin, end), by_head(saved[0], begin, end), by_head(saved[1], begin, end),
          by_head(saved[2], begin, end), by_head(saved[3], begin, end),
          saved[4].slice(0, begin, end).t().unsqueeze(0), 0.0, m.causal, m.mask, scale);
      out[0].slice(0, begin, end).copy_(dq.squeeze(0).transpose(0, 1));
      out[1].slice(0, begin, end).copy_(dk.squeeze(0).transpose(0, 1));
      out[2].slice(0, begin, end).copy_(dv.squeeze(0).transpose(0, 1));
    }
    out.resize(6);
    return out;
  }
};

/// One sequence, all scores in memory. q [1, heads, queries, dim], k and v with kv_heads.
at::Tensor by_definition(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v) {
  const int64_t share = spec.heads / spec.kv_heads;
  // [1, kv_heads, share * queries, dim]: the query heads of one key head follow each other.
  const int64_t queries = q.size(2);
  const at::Tensor grouped = q.reshape({1, spec.kv_heads, share * queries, spec.head_dim});
  at::Tensor scores = at::matmul(grouped, k.transpose(-1, -2)).mul(spec.scale);
  scores = scores.view({1, spec.kv_heads, share, queries, k.size(2)})
               .to(at::toOpMathType(q.scalar_type()));
  if (spec.logit_softcap > 0) {
    scores = at::tanh(scores / spec.logit_softcap) * spec.logit_softcap;
  }
  scores = scores + attention_mask(queries, k.size(2), spec.window).to(scores.device());
  const at::Tensor weights = at::softmax(scores, -1).to(q.scalar_type());
  const at::Tensor flat = weights.view({1, spec.kv_heads, share * queries, k.size(2)});
  return at::matmul(flat, v).view({1, spec.heads, queries, spec.head_dim});
}

at::Tensor fused(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                 const at::Tensor& v) {
  const Masking m = masking(q.size(2), k.size(2), spec.window, q.scalar_type());
  if (q.is_cpu()) {
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, m.causal,
                                                                       m.mask, spec.scale));
  }
  std::optional<at::Tensor> mask;
  if (m.mask) mask = m.mask->to(q.device(), q.scalar_type());
  return at::scaled_dot_product_attention(q, k, v, mask, 0.0, m.causal, spec.scale,
                                          spec.heads != spec.kv_heads);
}

template <class OneSequence>
at::Tensor each_sequence(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v, const PackedBatch& batch, KvCache* cache,
                         const OneSequence& attend) {
  SLUICE_CHECK(cache == nullptr || batch.parents.empty()) << "sequences with parents in a cache";
  auto* held = static_cast<ContiguousKvCache*>(cache);
  std::vector<at::Tensor> outputs;
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    const int64_t end = begin + batch.length(i);
    if (begin == end) continue;
    at::Tensor keys = seen(k, batch, i);
    at::Tensor values = seen(v, batch, i);
    if (held != nullptr) std::tie(keys, values) = held->append(spec.layer, i, keys, values);
    const at::Tensor o = attend(spec, by_head(q, begin, end), by_head(keys), by_head(values));
    outputs.push_back(o.squeeze(0).transpose(0, 1));
  }
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs);
}

}  // namespace

at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                  const at::Tensor& v) {
  return spec.logit_softcap > 0 ? by_definition(spec, q, k, v) : fused(spec, q, k, v);
}

at::Tensor SdpaAttentionOp::apply(const AttentionSpec& spec, const at::Tensor& q,
                                  const at::Tensor& k, const at::Tensor& v,
                                  const PackedBatch& batch, KvCache* cache) const {
  if (spec.logit_softcap > 0) return each_sequence(spec, q, k, v, batch, cache, by_definition);
  if (!batch.parents.empty() && tree_attention_takes(spec, q, batch)) {
    SLUICE_CHECK(cache == nullptr) << "sequences with parents in a cache";
    return tree_attention(spec, q, k, v, batch);
  }
  if (cache == nullptr && q.is_cpu() && batch.parents.empty()) {
    return PackedSdpa::apply(q, k, v, batch.cu_seqlens, spec.window, spec.scale);
  }
  return each_sequence(spec, q, k, v, batch, cache, fused);
}

at::Tensor PlainAttentionOp::apply(const AttentionSpec& spec, const at::Tensor& q,
                                   const at::Tensor& k, const at::Tensor& v,
                                   const PackedBatch& batch, KvCache* cache) const {
  return each_sequence(spec, q, k, v, batch, cache, by_definition);
}

}  // namespace sluice
