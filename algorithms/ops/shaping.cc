#include "algorithms/ops/shaping.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sluice {

double OverlongPenalty::operator()(int64_t length) const noexcept {
  const double over = static_cast<double>(length - (max_length - buffer));
  const double penalty = std::min(0.0, -over / static_cast<double>(buffer) * factor);
  return capped ? std::max(penalty, -factor) : penalty;
}

std::vector<uint8_t> informative(std::span<const double> metric, std::span<const int64_t> group) {
  SLUICE_CHECK(metric.size() == group.size())
      << metric.size() << " values, " << group.size() << " group ids";
  struct Bounds {
    double low, high;
  };
  std::unordered_map<int64_t, Bounds> bounds;
  for (size_t i = 0; i < metric.size(); ++i) {
    if (!std::isfinite(metric[i])) continue;
    Bounds& b = bounds.try_emplace(group[i], Bounds{metric[i], metric[i]}).first->second;
    b.low = std::min(b.low, metric[i]);
    b.high = std::max(b.high, metric[i]);
  }
  std::vector<uint8_t> keep(metric.size(), 0);
  for (size_t i = 0; i < metric.size(); ++i) {
    if (!std::isfinite(metric[i])) continue;
    const Bounds& b = bounds.at(group[i]);
    keep[i] = b.low < b.high ? 1 : 0;
  }
  return keep;
}

double uniform_share(double pass_rate, int64_t group_size) noexcept {
  const auto n = static_cast<double>(group_size);
  return std::pow(pass_rate, n) + std::pow(1 - pass_rate, n);
}

at::Tensor without(const at::Tensor& mask, const at::Tensor& sequence,
                   std::span<const uint8_t> drop) {
  at::Tensor keep = at::empty({static_cast<int64_t>(drop.size())}, at::kBool);
  std::transform(drop.begin(), drop.end(), keep.data_ptr<bool>(), [](uint8_t d) { return d == 0; });
  const at::Tensor kept = keep.to(sequence.device()).index_select(0, sequence);
  return mask.defined() ? mask.logical_and(kept) : kept;
}

at::Tensor to_tokens(std::span<const double> per_rollout, const at::Tensor& sequence,
                     at::ScalarType type) {
  at::Tensor values = at::empty({static_cast<int64_t>(per_rollout.size())}, at::kDouble);
  std::copy(per_rollout.begin(), per_rollout.end(), values.data_ptr<double>());
  return values.to(sequence.device(), type).index_select(0, sequence);
}

}  // namespace sluice
