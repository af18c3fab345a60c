#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// Inputs of the gated delta rule for one sequence, all fp32: q and k [heads, tokens, key_dim], v
/// [heads, tokens, value_dim], decay (logarithm, <= 0) and beta [heads, tokens].
struct DeltaInputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor decay;
  at::Tensor beta;
};
struct DeltaResult {
  at::Tensor out;    ///< [heads, tokens, value_dim]
  at::Tensor state;  ///< [heads, key_dim, value_dim] after the last token
};

/// S_t = exp(decay_t) S_{t-1} + k_t (beta_t (v_t - k_t^T exp(decay_t) S_{t-1})), out_t = q_t^T S_t
/// (Gated DeltaNet, arXiv 2412.06464, eq. 10), token by token. `state` may be undefined: zero.
[[nodiscard]] DeltaResult gated_delta_recurrent(const DeltaInputs& in, const at::Tensor& state);

/// The same in chunks of `chunk` tokens, each a few matrix products (section 3.3 there): equal to
/// the recurrent form up to rounding, for long inputs and for training.
[[nodiscard]] DeltaResult gated_delta_chunked(const DeltaInputs& in, const at::Tensor& state,
                                              int64_t chunk = 64);

}  // namespace sluice
