#pragma once
#include "algorithms/ops/gae.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sluice {

/// Everything here is flat: T tokens of all rollouts of an update, `mask` bool [T] (undefined: all
/// count) and `sequence` int64 [T], the rollout of each token, equal ones adjacent. Tokens that do
/// not count (tool output) are passed through: they cost no discount, their values are never read,
/// and a reward that lies on one belongs to the last token before it that counts, so that returns
/// still sum to it. What precedes a rollout's first token that counts was earned by no action and
/// is left out. Results are 0 where the mask is. No gradients.

/// Token rewards [T] in fp64: `terminal[s]` on the last token of rollout s that counts (`sequence`
/// holds indices into it), less beta times `kl` [T] on each token that counts (undefined: none).
/// A rollout without such a token gets no reward.
[[nodiscard]] at::Tensor token_rewards(std::span<const double> terminal, const at::Tensor& kl,
                                       double beta, const at::Tensor& mask,
                                       const at::Tensor& sequence);

/// G_t = r_t + gamma G_{t+1}, in fp64.
[[nodiscard]] at::Tensor discounted_returns(const at::Tensor& reward, const at::Tensor& mask,
                                            const at::Tensor& sequence, double gamma);

/// Generalised advantage estimation (Schulman et al., 2016, arXiv 1506.02438, eqs. 11 and 16) over
/// tokens: delta_t = r_t + gamma V_{t+1} - V_t, A_t = delta_t + gamma lambda A_{t+1}, where t+1 is
/// the next token that counts; returns = A + V. `bootstrap[s]` is the value after rollout s's last
/// token: 0 where it finished; empty: 0 for all. In fp64, not whitened.
[[nodiscard]] Gae token_gae(const at::Tensor& reward, const at::Tensor& value,
                            const at::Tensor& mask, const at::Tensor& sequence, double gamma,
                            double lambda, std::span<const double> bootstrap = {});

/// (x - mean) / sqrt(var + 1e-8) over the tokens that count, var unbiased; 0 elsewhere. One token
/// is only centred, and of none there is nothing to do.
[[nodiscard]] at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask);

}  // namespace sluice
