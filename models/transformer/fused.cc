#include "models/transformer/fused.h"

#include "models/transformer/parallel_rows.h"
#include "models/transformer/row_kernels.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>

namespace sluice::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const RowKernels& kernels() {
  static const RowKernels& table = row_kernels(active_isa());
  return table;
}

// The typed const_data_ptr is not exported under every compiler's mangling.
const float* floats(const at::Tensor& t) { return static_cast<const float*>(t.const_data_ptr()); }

// Rows per task: enough work that a task is not smaller than its start.
int64_t grain(int64_t n) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, n)); }

double offset_of(const Norm& norm) { return norm.unit_offset ? 1.0 : 0.0; }

/// dx and dw of a norm whose input was `sum`; dsum may be undefined.
std::pair<at::Tensor, at::Tensor> norm_backward(const at::Tensor& dout, const at::Tensor& dsum,
                                                const at::Tensor& sum, const at::Tensor& weight,
                                                const at::Tensor& r, float offset) {
  const int64_t n = sum.size(-1);
  const int64_t rows = sum.numel() / n;
  const int64_t blocks = (rows + RowKernels::kBlock - 1) / RowKernels::kBlock;
  const at::Tensor g = dout.contiguous();
  const at::Tensor e = dsum.defined() ? dsum.contiguous() : at::Tensor();
  at::Tensor dx = at::empty_like(sum);
  at::Tensor partial = at::zeros({blocks, n}, sum.options());
  const float* gp = floats(g);
  const float* ep = e.defined() ? floats(e) : nullptr;
  const float* hp = floats(sum);
  const float* wp = floats(weight);
  const float* rp = floats(r);
  auto* dp = dx.mutable_data_ptr<float>();
  auto* pp = partial.mutable_data_ptr<float>();
  parallel_rows(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * RowKernels::kBlock;
      const int64_t count = std::min(RowKernels::kBlock, rows - first);
      const int64_t at = first * n;
      kernels().rms_norm_backward(gp + at, ep == nullptr ? nullptr : ep + at, hp + at, wp, offset,
                                  rp + first, count, n, dp + at, pp + b * n);
    }
  });
  return {dx, partial.sum(0)};
}

/// Of one input, or of the sum of two: returns {normed}, or {sum, normed}.
class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& weight,
                               at::TensorList inputs, double eps, double offset) {
    const at::Tensor x = inputs[0].contiguous();
    const at::Tensor y = inputs.size() > 1 ? inputs[1].contiguous() : at::Tensor();
    const int64_t n = x.size(-1);
    const int64_t rows = x.numel() / n;
    at::Tensor sum = y.defined() ? at::empty_like(x) : x;
    at::Tensor out = at::empty_like(x);
    at::Tensor r = at::empty({rows}, x.options());
    const float* xp = floats(x);
    const float* yp = y.defined() ? floats(y) : nullptr;
    const at::Tensor w = weight.contiguous();
    const float* wp = floats(w);
    float* sp = y.defined() ? sum.mutable_data_ptr<float>() : nullptr;
    auto* op = out.mutable_data_ptr<float>();
    auto* rp = r.mutable_data_ptr<float>();
    parallel_rows(rows, grain(n), [&](int64_t begin, int64_t end) {
      const int64_t at = begin * n;
      kernels().rms_norm(xp + at, yp == nullptr ? nullptr : yp + at, wp, static_cast<float>(offset),
                         eps, end - begin, n, sp == nullptr ? nullptr : sp + at, op + at,
                         rp + begin);
    });
    ctx->save_for_backward({sum, weight, r});
    ctx->saved_data["offset"] = offset;
    ctx->saved_data["added"] = y.defined();
    if (!y.defined()) return {out};
    return {sum, out};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const bool added = ctx->saved_data["added"].toBool();
    const auto offset = static_cast<float>(ctx->saved_data["offset"].toDouble());
    const at::Tensor dsum = added ? grads[0] : at::Tensor();
    at::Tensor dout = added ? grads[1] : grads[0];
    if (!dout.defined()) dout = at::zeros_like(saved[0]);
    const auto [dx, dw] = norm_backward(dout, dsum, saved[0], saved[1], saved[2], offset);
    if (added) return {dw, dx, dx, at::Tensor(), at::Tensor()};
    return {dw, dx, at::Tensor(), at::Tensor()};
  }
};

class SwiGlu : public torch::autograd::Function<SwiGlu> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate_up_in) {
    const at::Tensor gate_up = gate_up_in.contiguous();
    const int64_t n = gate_up.size(-1) / 2;
    std::vector<int64_t> sizes = gate_up.sizes().vec();
    sizes.back() = n;
    at::Tensor out = at::empty(sizes, gate_up.options());
    const float* in = floats(gate_up);
    auto* op = out.mutable_data_ptr<float>();
    parallel_rows(out.numel() / n, grain(n), [&](int64_t begin, int64_t end) {
      kernels().swiglu(in + 2 * begin * n, end - begin, n, op + begin * n);
    });
    ctx->save_for_backward({gate_up});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor gate_up = ctx->get_saved_variables().front();
    const int64_t n = gate_up.size(-1) / 2;
    const at::Tensor g = grads[0].contiguous();
    at::Tensor d = at::empty_like(gate_up);
    const float* gp = floats(g);
    const float* in = floats(gate_up);
    auto* dp = d.mutable_data_ptr<float>();
    parallel_rows(g.numel() / n, grain(n), [&](int64_t begin, int64_t end) {
      kernels().swiglu_backward(gp + begin * n, in + 2 * begin * n, end - begin, n,
                                dp + 2 * begin * n);
    });
    return {d};
  }
};

struct Split {
  int64_t tokens, heads, kv_heads, dim, half;
  [[nodiscard]] int64_t q() const { return heads * dim; }
  [[nodiscard]] int64_t kv() const { return kv_heads * dim; }
  [[nodiscard]] int64_t all() const { return q() + 2 * kv(); }
};

/// q, k and v apart and q, k rotated; `back` turns the other way and writes into one.
class SplitHeads : public torch::autograd::Function<SplitHeads> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& qkv_in,
                               const at::Tensor& cos, const at::Tensor& sin, int64_t heads,
                               int64_t kv_heads, int64_t dim) {
    const at::Tensor qkv = qkv_in.contiguous();
    const Split s{qkv.size(0), heads, kv_heads, dim, cos.size(1)};
    at::Tensor q = at::empty({s.tokens, heads, dim}, qkv.options());
    at::Tensor k = at::empty({s.tokens, kv_heads, dim}, qkv.options());
    at::Tensor v = at::empty({s.tokens, kv_heads, dim}, qkv.options());
    const float* in = floats(qkv);
    const float* c = floats(cos);
    const float* n = floats(sin);
    auto* qp = q.mutable_data_ptr<float>();
    auto* kp = k.mutable_data_ptr<float>();
    auto* vp = v.mutable_data_ptr<float>();
    parallel_rows(s.tokens, grain(s.all()), [&](int64_t begin, int64_t end) {
      const int64_t rows = end - begin;
      const float* x = in + begin * s.all();
      const float* cb = c + begin * s.half;
      const float* nb = n + begin * s.half;
      const RowKernels& f = kernels();
      f.rotate(x, s.all(), cb, nb, false, rows, heads, dim, s.half, qp + begin * s.q(), s.q());
      f.rotate(x + s.q(), s.all(), cb, nb, false, rows, kv_heads, dim, s.half, kp + begin * s.kv(),
               s.kv());
      f.rotate(x + s.q() + s.kv(), s.all(), cb, nb, false, rows, kv_heads, dim, 0,
               vp + begin * s.kv(), s.kv());
    });
    ctx->save_for_backward({cos, sin});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["kv_heads"] = kv_heads;
    ctx->saved_data["dim"] = dim;
    return {q, k, v};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const int64_t heads = ctx->saved_data["heads"].toInt();
    const int64_t kv_heads = ctx->saved_data["kv_heads"].toInt();
    const int64_t dim = ctx->saved_data["dim"].toInt();
    const Split s{saved[0].size(0), heads, kv_heads, dim, saved[0].size(1)};
    const auto dense = [&](const at::Tensor& g, int64_t n) {
      return g.defined() ? g.contiguous() : at::zeros({s.tokens, n, dim}, saved[0].options());
    };
    const at::Tensor dq = dense(grads[0], heads);
    const at::Tensor dk = dense(grads[1], kv_heads);
    const at::Tensor dv = dense(grads[2], kv_heads);
    at::Tensor out = at::empty({s.tokens, s.all()}, dq.options());
    const float* c = floats(saved[0]);
    const float* n = floats(saved[1]);
    const float* qp = floats(dq);
    const float* kp = floats(dk);
    const float* vp = floats(dv);
    auto* op = out.mutable_data_ptr<float>();
    parallel_rows(s.tokens, grain(s.all()), [&](int64_t begin, int64_t end) {
      const int64_t rows = end - begin;
      float* o = op + begin * s.all();
      const float* cb = c + begin * s.half;
      const float* nb = n + begin * s.half;
      const RowKernels& f = kernels();
      f.rotate(qp + begin * s.q(), s.q(), cb, nb, true, rows, heads, dim, s.half, o, s.all());
      f.rotate(kp + begin * s.kv(), s.kv(), cb, nb, true, rows, kv_heads, dim, s.half, o + s.q(),
               s.all());
      f.rotate(vp + begin * s.kv(), s.kv(), cb, nb, true, rows, kv_heads, dim, 0,
               o + s.q() + s.kv(), s.all());
    });
    return {out, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool takes(const at::Tensor& x) noexcept {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0;
}

at::Tensor rms_norm(const Norm& norm, const at::Tensor& x) {
  return RmsNorm::apply(norm.weight, at::TensorList(x), norm.eps, offset_of(norm))[0];
}

AddedNorm add_rms_norm(const Norm& norm, const at::Tensor& x, const at::Tensor& y) {
  const std::array<at::Tensor, 2> inputs = {x, y};
  auto both = RmsNorm::apply(norm.weight, at::TensorList(inputs), norm.eps, offset_of(norm));
  return {both[0], both[1]};
}

at::Tensor swiglu(const at::Tensor& gate_up) { return SwiGlu::apply(gate_up); }

Heads split_heads(const at::Tensor& qkv, const HeadShape& shape, const RopeTable* rope) {
  const at::Tensor none = at::empty({qkv.size(0), 0}, qkv.options().requires_grad(false));
  auto parts =
      SplitHeads::apply(qkv, rope == nullptr ? none : rope->cos, rope == nullptr ? none : rope->sin,
                        shape.heads, shape.kv_heads, shape.head_dim);
  return {parts[0], parts[1], parts[2]};
}

}  // namespace sluice::fused
