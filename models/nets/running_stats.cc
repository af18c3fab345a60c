#include "models/nets/running_stats.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {
constexpr double kEpsilon = 1e-8;
}

RunningStats::RunningStats(int64_t width)
    : mean_(static_cast<size_t>(width), 0.0), m2_(static_cast<size_t>(width), 0.0) {}

double RunningStats::variance(int64_t element) const noexcept {
  return count_ > 0 ? m2_[static_cast<size_t>(element)] / count_ : 1.0;
}

void RunningStats::update(const float* values, int64_t rows) {
  if (rows <= 0) return;
  const auto n = static_cast<double>(rows);
  const int64_t width = this->width();
  for (int64_t j = 0; j < width; ++j) {
    // Two passes: the exact deviations from the batch's own mean.
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(values[r * width + j]);
    const double mean = sum / n;
    double m2 = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const double d = static_cast<double>(values[r * width + j]) - mean;
      m2 += d * d;
    }
    auto& to_mean = mean_[static_cast<size_t>(j)];
    const double delta = mean - to_mean;
    const double total = count_ + n;
    to_mean += delta * (n / total);
    m2_[static_cast<size_t>(j)] += m2 + delta * delta * (count_ * n / total);
  }
  count_ += n;
}

void RunningStats::merge(const RunningStats& other) {
  SLUICE_CHECK(other.width() == width()) << other.width() << " and " << width();
  if (other.count_ <= 0) return;
  const double total = count_ + other.count_;
  for (size_t j = 0; j < mean_.size(); ++j) {
    const double delta = other.mean_[j] - mean_[j];
    mean_[j] += delta * (other.count_ / total);
    m2_[j] += other.m2_[j] + delta * delta * (count_ * other.count_ / total);
  }
  count_ = total;
}

void RunningStats::clear() {
  count_ = 0;
  std::fill(mean_.begin(), mean_.end(), 0.0);
  std::fill(m2_.begin(), m2_.end(), 0.0);
}

void RunningStats::normalise(const float* in, int64_t rows, float clip, float* out) const {
  const int64_t width = this->width();
  const auto limit = static_cast<double>(clip);
  for (int64_t j = 0; j < width; ++j) {
    const double mean = count_ > 0 ? mean_[static_cast<size_t>(j)] : 0.0;
    const double scale = count_ > 0 ? 1.0 / std::sqrt(variance(j) + kEpsilon) : 1.0;
    for (int64_t r = 0; r < rows; ++r) {
      const double z = (static_cast<double>(in[r * width + j]) - mean) * scale;
      out[r * width + j] = static_cast<float>(std::clamp(z, -limit, limit));
    }
  }
}

std::vector<double> RunningStats::save() const {
  std::vector<double> state{count_};
  state.insert(state.end(), mean_.begin(), mean_.end());
  state.insert(state.end(), m2_.begin(), m2_.end());
  return state;
}

Status RunningStats::load(std::span<const double> state) {
  const size_t n = mean_.size();
  if (state.size() != 1 + 2 * n) {
    return invalid_argument("statistics of width {} need {} numbers, got {}", n, 1 + 2 * n,
                            state.size());
  }
  count_ = state[0];
  std::copy_n(state.begin() + 1, n, mean_.begin());
  std::copy_n(state.begin() + 1 + static_cast<std::ptrdiff_t>(n), n, m2_.begin());
  return {};
}

void ReturnNormaliser::normalise(int64_t slot, const float* reward,
                                 const std::vector<uint8_t>& ended, float clip, float* out) {
  const auto at = static_cast<size_t>(slot);
  if (returns_.size() <= at) returns_.resize(at + 1, 0);
  double& running = returns_[at];
  for (size_t t = 0; t < ended.size(); ++t) {
    running = gamma_ * running + static_cast<double>(reward[t]);
    const auto sample = static_cast<float>(running);
    stats_.update(&sample, 1);
    if (ended[t] != 0) running = 0;
  }
  const auto scale = static_cast<float>(1 / std::sqrt(stats_.variance() + kEpsilon));
  for (size_t t = 0; t < ended.size(); ++t) out[t] = std::clamp(reward[t] * scale, -clip, clip);
}

void ReturnNormaliser::cut(int64_t slot) {
  if (static_cast<size_t>(slot) < returns_.size()) returns_[static_cast<size_t>(slot)] = 0;
}

double ReturnNormaliser::running_return(int64_t slot) const noexcept {
  return static_cast<size_t>(slot) < returns_.size() ? returns_[static_cast<size_t>(slot)] : 0;
}

std::vector<double> ReturnNormaliser::save() const {
  std::vector<double> state = stats_.save();
  state.insert(state.end(), returns_.begin(), returns_.end());
  return state;
}

Status ReturnNormaliser::load(std::span<const double> state) {
  if (state.size() < 3) {
    return invalid_argument("a return normaliser needs at least 3 numbers, got {}", state.size());
  }
  RETURN_IF_ERROR(stats_.load(state.first(3)));
  returns_.assign(state.begin() + 3, state.end());
  return {};
}

}  // namespace sluice
