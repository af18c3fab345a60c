#include "inference/kernels/exact_attention_op.h"

#include "dataflow/base/result.h"
#include "inference/kernels/paged_attention.h"
#include "models/transformer/attention_ops.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const float* floats(const at::Tensor& t) { return static_cast<const float*>(t.const_data_ptr()); }

/// Every sequence is one block of its own, which begins where the sequence does.
at::Tensor attend(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                  const at::Tensor& v, const std::vector<int64_t>& cu_seqlens) {
  at::Tensor out = at::empty_like(q);
  const int64_t token = spec.kv_heads * spec.head_dim;
  PagedKvView kv;
  kv.k = floats(k);
  kv.v = floats(v);
  kv.block_stride = token;  // a block's number is the token it begins at
  kv.head_stride = spec.head_dim;
  kv.slot_stride = token;
  std::vector<int32_t> first(cu_seqlens.begin(), cu_seqlens.end());
  std::vector<PagedRow> rows;
  rows.reserve(static_cast<size_t>(q.size(0)));
  kv.block_size = 1;
  for (size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
    const int64_t length = cu_seqlens[i + 1] - cu_seqlens[i];
    kv.block_size = std::max(kv.block_size, length);
    for (int64_t t = 1; t <= length; ++t) rows.push_back({&first[i], t});
  }
  paged_attention(spec, floats(q), kv, rows, out.mutable_data_ptr<float>());
  return out;
}

class ExactAttention : public torch::autograd::Function<ExactAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                            const at::Tensor& v_in, const AttentionSpec& spec,
                            const PackedBatch& batch) {
    SLUICE_CHECK(batch.parents.empty()) << "exact attention takes whole sequences";
    const at::Tensor q = q_in.contiguous();
    const at::Tensor k = k_in.contiguous();
    const at::Tensor v = v_in.contiguous();
    ctx->save_for_backward({q, k, v});
    ctx->saved_data["cu_seqlens"] = batch.cu_seqlens;
    ctx->saved_data["shape"] =
        std::vector<int64_t>{spec.layer, spec.heads, spec.kv_heads, spec.head_dim, spec.window};
    ctx->saved_data["factors"] = std::vector<double>{spec.scale, spec.logit_softcap};
    return attend(spec, q, k, v, batch.cu_seqlens);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const auto factors = ctx->saved_data["factors"].toDoubleVector();
    const AttentionSpec spec = {shape[0],   shape[1], shape[2],  shape[3],
                                factors[0], shape[4], factors[1]};
    PackedBatch batch;
    batch.cu_seqlens = ctx->saved_data["cu_seqlens"].toIntVector();
    variable_list inputs;
    for (const at::Tensor& t : saved) inputs.push_back(t.detach().requires_grad_(true));
    const at::AutoGradMode with_gradients(true);
    const at::Tensor out =
        SdpaAttentionOp().apply(spec, inputs[0], inputs[1], inputs[2], batch, nullptr);
    variable_list result = torch::autograd::grad({out}, inputs, {grads[0]});
    result.resize(5);
    return result;
  }
};

}  // namespace

at::Tensor ExactAttentionOp::apply(const AttentionSpec& spec, const at::Tensor& q,
                                   const at::Tensor& k, const at::Tensor& v,
                                   const PackedBatch& batch, KvCache* cache) const {
  SLUICE_CHECK(cache == nullptr) << "exact attention of a batch has no cache";
  SLUICE_CHECK(q.is_cpu() && q.scalar_type() == at::kFloat) << "exact attention is fp32";
  return ExactAttention::apply(q, k, v, spec, batch);
}

}  // namespace sluice
