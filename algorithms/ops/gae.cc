#include "algorithms/ops/gae.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

namespace sluice {

void gae(const GaeColumns& in, int64_t steps, double gamma, double lambda, float* advantage,
         float* returns) noexcept {
  double next = 0;  // A_{t+1}
  for (int64_t t = steps; t-- > 0;) {
    const bool terminated = in.terminated[t] != 0;
    const bool cut = terminated || in.truncated[t] != 0;
    double next_value = 0;
    if (!terminated) {
      next_value = static_cast<double>(cut || t + 1 == steps ? in.bootstrap[t] : in.value[t + 1]);
    }
    const auto value = static_cast<double>(in.value[t]);
    const double delta = static_cast<double>(in.reward[t]) + gamma * next_value - value;
    next = delta + (cut ? 0.0 : gamma * lambda * next);
    advantage[t] = static_cast<float>(next);
    returns[t] = static_cast<float>(next + value);
  }
}

Gae gae(const at::Tensor& reward, const at::Tensor& value, const at::Tensor& terminated,
        const at::Tensor& truncated, const at::Tensor& bootstrap, double gamma, double lambda) {
  SLUICE_CHECK(reward.dim() == 1 || reward.dim() == 2) << reward.dim();
  const int64_t steps = reward.size(0);
  const int64_t agents = reward.dim() == 2 ? reward.size(1) : 1;
  // [B, T] rows: each agent's steps lie together for the raw version.
  const auto rows = [&](const at::Tensor& x, at::ScalarType type) {
    return x.detach().reshape({steps, agents}).to(type).t().contiguous();
  };
  const at::Tensor r = rows(reward, at::kFloat);
  const at::Tensor v = rows(value, at::kFloat);
  const at::Tensor b = rows(bootstrap, at::kFloat);
  const at::Tensor term = rows(terminated, at::kByte);
  const at::Tensor trunc = rows(truncated, at::kByte);
  at::Tensor advantage = at::empty_like(r);
  at::Tensor returns = at::empty_like(r);
  for (int64_t i = 0; i < agents; ++i) {
    const int64_t at = i * steps;
    gae({r.data_ptr<float>() + at, v.data_ptr<float>() + at, term.data_ptr<uint8_t>() + at,
         trunc.data_ptr<uint8_t>() + at, b.data_ptr<float>() + at},
        steps, gamma, lambda, advantage.data_ptr<float>() + at, returns.data_ptr<float>() + at);
  }
  return {advantage.t().reshape(reward.sizes()), returns.t().reshape(reward.sizes())};
}

}  // namespace sluice
