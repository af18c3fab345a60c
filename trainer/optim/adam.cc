#include "trainer/optim/adam.h"

#include <cmath>

namespace sluice {

double global_norm(const float* gradient, int64_t n) noexcept {
  // Eight sums side by side: a fixed order that a compiler can keep in registers.
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t j = 0; j < 8; ++j) {
      const auto g = static_cast<double>(gradient[i + j]);
      sums[j] += g * g;
    }
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  double total = 0;
  for (const double s : sums) total += s;
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) noexcept {
  return max_norm > 0 && norm > max_norm ? max_norm / norm : 1.0;
}

void adam_step(const AdamConfig& config, int64_t step, double learning_rate, double scale,
               const AdamBuffers& buffers, Isa isa) {
  const auto t = static_cast<double>(step);
  const auto f = [](double x) { return static_cast<float>(x); };
  const internal::AdamPass pass{f(config.beta1),
                                f(1 - config.beta1),
                                f(config.beta2),
                                f(1 - config.beta2),
                                f(scale),
                                f(learning_rate / (1 - std::pow(config.beta1, t))),
                                f(1 / std::sqrt(1 - std::pow(config.beta2, t))),
                                f(config.eps),
                                f(1 - learning_rate * config.weight_decay)};
  internal::AdamKernel kernel = internal::kAdamPlain;
#if defined(__x86_64__)
  if (isa == Isa::Avx2) kernel = internal::kAdamAvx2;
  if (isa == Isa::Avx512) kernel = internal::kAdamAvx512;
#endif
  kernel(pass, buffers.count, buffers.parameters, buffers.gradient, buffers.m, buffers.v);
}

Adam::Adam(int64_t parameters, const AdamConfig& config, Isa isa)
    : config_(config), isa_(isa), m_(static_cast<size_t>(parameters)), v_(m_.size()) {}

void Adam::step(float* parameters, const float* gradient, double learning_rate, double scale) {
  adam_step(config_, ++step_, learning_rate, scale,
            {static_cast<int64_t>(m_.size()), parameters, gradient, m_.data(), v_.data()}, isa_);
}

AdamState Adam::save() const { return {step_, {m_.begin(), m_.end()}, {v_.begin(), v_.end()}}; }

Status Adam::load(const AdamState& state) {
  if (state.m.size() != m_.size() || state.v.size() != v_.size()) {
    return invalid_argument("an optimizer of {} parameters cannot load a state of {}", m_.size(),
                            state.m.size());
  }
  step_ = state.step;
  m_.assign(state.m.begin(), state.m.end());
  v_.assign(state.v.begin(), state.v.end());
  return {};
}

}  // namespace sluice
