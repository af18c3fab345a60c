#include "models/transformer/rope.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

constexpr std::array<std::pair<RopeType, std::string_view>, 5> kTypes = {
    {{RopeType::Default, "default"},
     {RopeType::Linear, "linear"},
     {RopeType::Dynamic, "dynamic"},
     {RopeType::Llama3, "llama3"},
     {RopeType::Yarn, "yarn"}}};
constexpr double kTwoPi = 6.283185307179586;

double yarn_mscale(double scale, double mscale) {
  return scale <= 1 ? 1.0 : 0.1 * mscale * std::log(scale) + 1.0;
}

void stretch_llama3(const RopeConfig& rope, std::vector<float>& freqs) {
  const auto original = static_cast<double>(rope.original_max_positions);
  const double longest_kept = original / rope.high_freq_factor;
  const double shortest_divided = original / rope.low_freq_factor;
  for (float& freq : freqs) {
    const double wavelength = kTwoPi / freq;
    if (wavelength < longest_kept) continue;
    if (wavelength > shortest_divided) {
      freq = static_cast<float>(freq / rope.factor);
      continue;
    }
    const double blend = (original / wavelength - rope.low_freq_factor) /
                         (rope.high_freq_factor - rope.low_freq_factor);
    freq = static_cast<float>((1 - blend) * freq / rope.factor + blend * freq);
  }
}

// Section 3.2 of arXiv 2309.00071: dimensions that turn more than beta_fast times over the original
// context keep their frequency, those that turn less than beta_slow times are interpolated.
void stretch_yarn(const RopeConfig& rope, int64_t dim, std::vector<float>& freqs) {
  const auto d = static_cast<double>(dim);
  const auto correction = [&](double turns) {
    return d * std::log(static_cast<double>(rope.original_max_positions) / (turns * kTwoPi)) /
           (2 * std::log(rope.theta));
  };
  double low = correction(rope.beta_fast);
  double high = correction(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, d - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < freqs.size(); ++i) {
    // In fp32 and in this order, as the reference: near the ends the rounding shows.
    const float ramp = std::clamp(
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0F,
        1.0F);
    const float kept = 1 - ramp;
    freqs[i] = freqs[i] / static_cast<float>(rope.factor) * (1 - kept) + freqs[i] * kept;
  }
}

}  // namespace

bool rope_by_sequence(const RopeConfig& rope) noexcept {
  return rope.type == RopeType::Dynamic && rope.dynamic_length == 0;
}

std::string_view name(RopeType type) noexcept {
  for (const auto& [known, text] : kTypes) {
    if (known == type) return text;
  }
  return "none";
}

std::optional<RopeType> rope_type(std::string_view name) noexcept {
  for (const auto& [type, text] : kTypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

int64_t rotary_dim(const RopeConfig& rope, int64_t head_dim) noexcept {
  return static_cast<int64_t>(static_cast<double>(head_dim) * rope.partial_rotary_factor);
}

std::vector<float> rope_inv_freq(const RopeConfig& rope, int64_t head_dim, int64_t max_positions,
                                 int64_t length) {
  const int64_t dim = rotary_dim(rope, head_dim);
  double base = rope.theta;
  if (rope.type == RopeType::Dynamic && length > max_positions && dim > 2) {
    const double grown =
        rope.factor * static_cast<double>(length) / static_cast<double>(max_positions) -
        (rope.factor - 1);
    base *= std::pow(grown, static_cast<double>(dim) / static_cast<double>(dim - 2));
  }
  std::vector<float> freqs(static_cast<size_t>(dim / 2));
  for (size_t i = 0; i < freqs.size(); ++i) {
    freqs[i] = static_cast<float>(
        1.0 / std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(dim)));
  }
  if (rope.type == RopeType::Linear) {
    for (float& freq : freqs) freq = static_cast<float>(freq / rope.factor);
  }
  if (rope.type == RopeType::Llama3) stretch_llama3(rope, freqs);
  if (rope.type == RopeType::Yarn) stretch_yarn(rope, dim, freqs);
  return freqs;
}

double rope_attention_factor(const RopeConfig& rope) noexcept {
  if (rope.type != RopeType::Yarn) return 1;
  if (rope.attention_factor != 0) return rope.attention_factor;
  if (rope.mscale != 0 && rope.mscale_all_dim != 0) {
    return yarn_mscale(rope.factor, rope.mscale) / yarn_mscale(rope.factor, rope.mscale_all_dim);
  }
  return yarn_mscale(rope.factor, 1);
}

at::Tensor rope_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t max_positions,
                            const at::Device& device) {
  if (rope.type == RopeType::None || rope_by_sequence(rope)) return {};
  const auto freqs = rope_inv_freq(rope, head_dim, max_positions, rope.dynamic_length);
  return at::tensor(freqs, at::kFloat).to(device);
}

RopeTable rope_table(const RopeConfig& rope, int64_t head_dim, int64_t max_positions,
                     const at::Tensor& positions, const std::vector<int64_t>& cu_seqlens,
                     const at::Tensor& frequencies) {
  const at::NoGradGuard no_grad;
  const auto angles = [&](const at::Tensor& at_positions, int64_t length) {
    at::Tensor inv_freq = frequencies;
    if (!inv_freq.defined()) {
      const auto freqs = rope_inv_freq(rope, head_dim, max_positions, length);
      inv_freq = at::tensor(freqs, at::kFloat).to(positions.device());
    }
    return at_positions.to(at::kFloat).unsqueeze(1) * inv_freq;
  };
  at::Tensor all;
  if (rope_by_sequence(rope)) {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i + 1 < cu_seqlens.size(); ++i) {
      const at::Tensor own = positions.slice(0, cu_seqlens[i], cu_seqlens[i + 1]);
      if (own.numel() > 0) parts.push_back(angles(own, own.max().item<int64_t>() + 1));
    }
    all = at::cat(parts);
  } else {
    all = angles(positions, rope.dynamic_length);
  }
  const double factor = rope_attention_factor(rope);
  RopeTable table{at::cos(all), at::sin(all)};
  if (factor != 1) {
    table.cos.mul_(factor);
    table.sin.mul_(factor);
  }
  return table;
}

}  // namespace sluice
