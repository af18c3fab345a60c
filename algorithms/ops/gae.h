#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sluice {

/// One agent's T consecutive steps; see Trajectory. `bootstrap[t]` is V(observation after step t);
/// it is read where truncated[t] (and not terminated[t]), and at T-1 unless the episode ended
/// there.
struct GaeColumns {
  const float* reward = nullptr;
  const float* value = nullptr;
  const uint8_t* terminated = nullptr;
  const uint8_t* truncated = nullptr;
  const float* bootstrap = nullptr;
};

/// Generalised advantage estimation (Schulman et al., ICLR 2016, eqs. 11 and 16):
///   delta_t = r_t + gamma V(s_{t+1}) - V(s_t),  A_t = delta_t + gamma lambda A_{t+1}.
/// Termination: V(s_{t+1}) = 0 and the sum is cut. Truncation: V of the final observation, and the
/// sum is cut. Both: termination wins. Writes advantage[T] and returns[T] = A + V.
void gae(const GaeColumns& in, int64_t steps, double gamma, double lambda, float* advantage,
         float* returns) noexcept;

struct Gae {
  at::Tensor advantage;
  at::Tensor returns;
};

/// The same for tensors [T] or [T, B] (one column per agent): float32 reward, value, bootstrap;
/// bool or uint8 flags.
[[nodiscard]] Gae gae(const at::Tensor& reward, const at::Tensor& value,
                      const at::Tensor& terminated, const at::Tensor& truncated,
                      const at::Tensor& bootstrap, double gamma, double lambda);

}  // namespace sluice
