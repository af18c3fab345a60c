#include "models/transformer/gated_delta.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace sluice {
namespace {

at::Tensor start(const DeltaInputs& in, const at::Tensor& state) {
  if (state.defined()) return state;
  return at::zeros({in.k.size(0), in.k.size(2), in.v.size(2)}, in.v.options().requires_grad(false));
}

}  // namespace

DeltaResult gated_delta_recurrent(const DeltaInputs& in, const at::Tensor& state) {
  at::Tensor s = start(in, state);
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < in.q.size(1); ++t) {
    const at::Tensor k = in.k.select(1, t);
    s = s * in.decay.select(1, t).exp().unsqueeze(-1).unsqueeze(-1);
    const at::Tensor known = at::matmul(k.unsqueeze(1), s).squeeze(1);
    const at::Tensor written = (in.v.select(1, t) - known) * in.beta.select(1, t).unsqueeze(-1);
    s = s + k.unsqueeze(-1) * written.unsqueeze(1);
    outputs.push_back(at::matmul(in.q.select(1, t).unsqueeze(1), s));
  }
  return {at::cat(outputs, 1), s};
}

DeltaResult gated_delta_chunked(const DeltaInputs& in, const at::Tensor& state, int64_t chunk) {
  at::Tensor s = start(in, state);
  std::vector<at::Tensor> outputs;
  const int64_t tokens = in.q.size(1);
  for (int64_t begin = 0; begin < tokens; begin += chunk) {
    const int64_t n = std::min(chunk, tokens - begin);
    const at::Tensor q = in.q.narrow(1, begin, n);
    const at::Tensor k = in.k.narrow(1, begin, n);
    const at::Tensor beta = in.beta.narrow(1, begin, n).unsqueeze(-1);
    // gamma_t: logarithm of all decay from the chunk's start to t.
    const at::Tensor gamma = in.decay.narrow(1, begin, n).cumsum(1);
    const at::Tensor future =
        at::ones({n, n}, q.options().dtype(at::kBool).requires_grad(false)).triu(1);
    const at::Tensor between = (gamma.unsqueeze(2) - gamma.unsqueeze(1))
                                   .masked_fill(future, -std::numeric_limits<double>::infinity())
                                   .exp();
    // What each token writes depends on what the earlier ones of the chunk wrote: a triangular
    // system with ones on its diagonal, (I + L) w = beta (v - exp(gamma) k^T s).
    const at::Tensor beta_k = k * beta;
    const at::Tensor system = at::matmul(beta_k, k.transpose(1, 2)) * between;
    const at::Tensor wanted =
        in.v.narrow(1, begin, n) * beta - at::matmul(beta_k * gamma.exp().unsqueeze(-1), s);
    const at::Tensor written = at::linalg_solve_triangular(system, wanted, /*upper=*/false,
                                                           /*left=*/true, /*unitriangular=*/true);
    outputs.push_back(at::matmul(q * gamma.exp().unsqueeze(-1), s) +
                      at::matmul(at::matmul(q, k.transpose(1, 2)) * between, written));
    const at::Tensor last = gamma.narrow(1, n - 1, 1);
    s = s * last.exp().unsqueeze(-1) +
        at::matmul((k * (last - gamma).exp().unsqueeze(-1)).transpose(1, 2), written);
  }
  return {at::cat(outputs, 1), s};
}

}  // namespace sluice
