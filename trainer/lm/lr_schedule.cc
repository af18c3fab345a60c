#include "trainer/lm/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice {

double LrSchedule::factor(int64_t step) const noexcept {
  if (step < warmup_steps) {
    return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  if (shape == LrShape::Constant) return 1;
  if (step >= total_steps) return floor;
  const auto t = static_cast<double>(step), n = static_cast<double>(total_steps);
  double left = 1;  // share of the way down that is left
  if (shape == LrShape::Wsd) {
    left = std::min(1.0, (n - t) / (decay_share * n));
  } else {
    const auto w = static_cast<double>(warmup_steps);
    const double p = (t - w) / (n - w);
    left = shape == LrShape::Linear ? 1 - p : (1 + std::cos(std::numbers::pi * p)) / 2;
  }
  return floor + (1 - floor) * left;
}

void LrSchedule::bind(ConfigBinder& b) {
  b.field("shape", shape, "how the learning rate falls after the warm-up",
          {{"constant", LrShape::Constant},
           {"linear", LrShape::Linear},
           {"cosine", LrShape::Cosine},
           {"wsd", LrShape::Wsd}});
  b.field("warmup_steps", warmup_steps, "steps in which the learning rate rises to its peak",
          Range::at_least(0));
  b.field("total_steps", total_steps, "step at which the learning rate has reached its floor",
          Range::at_least(0));
  b.field("floor", floor, "share of the peak that is left at the end", Range::between(0, 1));
  b.field("decay_share", decay_share, "share of the steps in which wsd decays",
          Range::between(1e-6, 1));
}

Status LrSchedule::check() const {
  if (shape != LrShape::Constant && total_steps <= warmup_steps) {
    return invalid_argument(
        "total_steps is {} and warmup_steps {}: a schedule that falls needs more steps than its "
        "warm-up",
        total_steps, warmup_steps);
  }
  return {};
}

}  // namespace sluice
