#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Running mean and variance of every element of a row, in double. Merging two sets of statistics
/// gives those of all their samples together (Chan, Golub, LeVeque 1979), whatever the order.
/// Workers that share statistics send what they saw since the last time (a delta), never their
/// totals.
class RunningStats {
 public:
  explicit RunningStats(int64_t width = 1);

  [[nodiscard]] int64_t width() const noexcept { return static_cast<int64_t>(mean_.size()); }
  [[nodiscard]] double count() const noexcept { return count_; }
  [[nodiscard]] const std::vector<double>& mean() const noexcept { return mean_; }
  /// Population variance of one element; 1 before any sample.
  [[nodiscard]] double variance(int64_t element = 0) const noexcept;

  /// Adds `rows` samples of width() floats.
  void update(const float* values, int64_t rows);
  void merge(const RunningStats& other);
  void clear();

  /// out = clamp((in - mean) / sqrt(variance + 1e-8), -clip, clip), row by row; in place is fine.
  /// Before any sample only the clamp acts.
  void normalise(const float* in, int64_t rows, float clip, float* out) const;

  /// [count, means.., sums of squared deviations..]; load() refuses another width.
  [[nodiscard]] std::vector<double> save() const;
  Status load(std::span<const double> state);

 private:
  double count_ = 0;
  std::vector<double> mean_;
  std::vector<double> m2_;
};

/// Scales rewards by the spread of the discounted return, as VecNormalize of Stable-Baselines3
/// does: a running return per slot (R = gamma R + r, zero after an episode's end), whose standard
/// deviation divides the reward; the mean is not shifted.
class ReturnNormaliser {
 public:
  explicit ReturnNormaliser(double gamma) : gamma_(gamma) {}

  /// Notes the rewards of one slot's next `rows` steps, then writes them scaled and clamped to
  /// [-clip, clip]. `ended[t]` is non-zero where step t was an episode's last.
  void normalise(int64_t slot, const float* reward, const std::vector<uint8_t>& ended, float clip,
                 float* out);
  /// The slot's next steps do not follow on those noted before.
  void cut(int64_t slot);
  [[nodiscard]] double running_return(int64_t slot) const noexcept;

  /// [statistics (3 numbers), running return per slot..]; load() refuses fewer than three.
  [[nodiscard]] std::vector<double> save() const;
  Status load(std::span<const double> state);

 private:
  double gamma_;
  RunningStats stats_{1};
  std::vector<double> returns_;
};

}  // namespace sluice
