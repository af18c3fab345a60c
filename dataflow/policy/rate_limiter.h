#pragma once
#include <cstdint>

namespace sluice {

/// Holds the ratio of reads to writes: with d = inserts * samples_per_insert - samples, inserting
/// is allowed while d stays at most `tolerance` above the point where reading starts, and sampling
/// while it stays at most `tolerance` below it. (The rule of Cassirer et al., 2021, "Reverb: a
/// framework for experience replay": samples_per_insert, min_size, min_diff, max_diff.) A ratio of
/// 0 leaves only min_size. Pure arithmetic.
class RateLimiter {
 public:
  RateLimiter(double samples_per_insert, double tolerance, int64_t min_size) noexcept;

  /// May one more item come in while `size` are held?
  [[nodiscard]] bool may_insert(int64_t size) const noexcept;
  /// May `n` items be read while `size` are held?
  [[nodiscard]] bool may_sample(int64_t n, int64_t size) const noexcept;
  /// May `n` items be read as far as the ratio is concerned?
  [[nodiscard]] bool ratio_allows(int64_t n) const noexcept;
  /// A read of `n` and the next insert could each wait for the other for ever.
  [[nodiscard]] bool never_allows(int64_t n) const noexcept;

  void inserted() noexcept { ++inserts_; }
  void sampled(int64_t n) noexcept { samples_ += n; }
  /// An item was thrown away before it was read: its reads are not owed any more.
  void forgotten() noexcept { --inserts_; }

  [[nodiscard]] double min_diff() const noexcept { return min_diff_; }
  [[nodiscard]] double max_diff() const noexcept { return max_diff_; }

 private:
  double ratio_;
  int64_t min_size_;
  double min_diff_;
  double max_diff_;
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
};

}  // namespace sluice
