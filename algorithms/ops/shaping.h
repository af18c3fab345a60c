#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// DAPO's soft punishment of long responses (arXiv 2503.14476 eq. 13): added to the reward, 0 up to
/// max_length - buffer, then falling linearly to -factor at max_length.
struct OverlongPenalty {
  int64_t max_length = 20480;  ///< tokens, > 0
  int64_t buffer = 4096;       ///< tokens, in [1, max_length]
  double factor = 1;           ///< >= 0
  bool capped =
      true;  ///< stop at -factor beyond max_length, as the paper; some peers go on falling

  [[nodiscard]] double operator()(int64_t length) const noexcept;
};

/// Dynamic sampling (arXiv 2503.14476 eq. 11): keep[i] is 1 where rollout i's group has two or more
/// finite values of `metric` that are not all equal; only such groups have a gradient. A failed
/// (not finite) sample itself is not kept.
[[nodiscard]] std::vector<uint8_t> informative(std::span<const double> metric,
                                               std::span<const int64_t> group);

/// The share of groups without a gradient to expect from prompts with pass rate p: p^n + (1-p)^n.
[[nodiscard]] double uniform_share(double pass_rate, int64_t group_size) noexcept;

/// `mask` [T] without the tokens of rollouts that are dropped: drop[s] != 0, where `sequence` [T]
/// holds indices into drop. For truncated responses (by the engine's finish reason, never by length
/// or padding) and failed samples.
[[nodiscard]] at::Tensor without(const at::Tensor& mask, const at::Tensor& sequence,
                                 std::span<const uint8_t> drop);

/// [S] numbers of rollouts to [T] tokens of the given type.
[[nodiscard]] at::Tensor to_tokens(std::span<const double> per_rollout, const at::Tensor& sequence,
                                   at::ScalarType type = at::kFloat);

}  // namespace sluice
