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

Adam::Adam(int64_t parameters, const AdamConfig& config, Isa isa)
    : config_(config), isa_(isa), m_(static_cast<size_t>(parameters)), v_(m_.size()) {}

void Adam::step(float* parameters, const float* gradient, double learning_rate, double scale) {
  ++step_;
  const auto t = static_cast<double>(step_);
  const auto f = [](double x) { return static_cast<float>(x); };
  const internal::AdamPass pass{f(config_.beta1),
                                f(1 - config_.beta1),
                                f(config_.beta2),
                                f(1 - config_.beta2),
                                f(scale),
                                f(learning_rate / (1 - std::pow(config_.beta1, t))),
                                f(1 / std::sqrt(1 - std::pow(config_.beta2, t))),
                                f(config_.eps),
                                f(1 - learning_rate * config_.weight_decay)};
  internal::AdamKernel kernel = internal::kAdamPlain;
#if defined(__x86_64__)
  if (isa_ == Isa::Avx2) kernel = internal::kAdamAvx2;
  if (isa_ == Isa::Avx512) kernel = internal::kAdamAvx512;
#endif
  kernel(pass, static_cast<int64_t>(m_.size()), parameters, gradient, m_.data(), v_.data());
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
