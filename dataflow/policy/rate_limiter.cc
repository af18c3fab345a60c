#include "dataflow/policy/rate_limiter.h"

namespace sluice {

RateLimiter::RateLimiter(double samples_per_insert, double tolerance, int64_t min_size) noexcept
    : ratio_(samples_per_insert),
      min_size_(min_size),
      min_diff_(samples_per_insert * static_cast<double>(min_size) - tolerance),
      max_diff_(samples_per_insert * static_cast<double>(min_size) + tolerance) {}

bool RateLimiter::may_insert(int64_t size) const noexcept {
  if (ratio_ <= 0 || size < min_size_) return true;
  return static_cast<double>(inserts_ + 1) * ratio_ - static_cast<double>(samples_) <= max_diff_;
}

bool RateLimiter::may_sample(int64_t n, int64_t size) const noexcept {
  return size >= min_size_ && ratio_allows(n);
}

bool RateLimiter::ratio_allows(int64_t n) const noexcept {
  if (ratio_ <= 0) return true;
  return static_cast<double>(inserts_) * ratio_ - static_cast<double>(samples_ + n) >= min_diff_;
}

bool RateLimiter::never_allows(int64_t n) const noexcept {
  // Inserting stops at worst just above max_diff - ratio; from there n reads must fit above
  // min_diff.
  return ratio_ > 0 && max_diff_ - ratio_ - static_cast<double>(n) < min_diff_;
}

}  // namespace sluice
