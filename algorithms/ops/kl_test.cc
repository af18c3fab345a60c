#include "algorithms/ops/kl.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

struct Point {
  double value, gradient;
};

Point at_point(KlEstimator estimator, double lp, double lr) {
  const at::Tensor x = at::full({1}, lp, at::kDouble).requires_grad_(true);
  const at::Tensor kl = kl_estimate(x, at::full({1}, lr, at::kDouble), estimator);
  return {kl.item<double>(), torch::autograd::grad({kl.sum()}, {x})[0].item<double>()};
}

void expect(KlEstimator estimator, double lp, double lr, double value, double gradient) {
  const Point p = at_point(estimator, lp, lr);
  EXPECT_NEAR(p.value, value, 5e-7);
  EXPECT_NEAR(p.gradient, gradient, 5e-7);
}

TEST(Kl, SignsAndGradientsWhenThePolicyIsLikelier) {
  expect(KlEstimator::K1, -1, -2, 1, 1);
  expect(KlEstimator::Abs, -1, -2, 1, 1);
  expect(KlEstimator::K2, -1, -2, .5, 1);
  expect(KlEstimator::K3, -1, -2, .367879, .632121);
}

TEST(Kl, SignsAndGradientsWhenTheReferenceIsLikelier) {
  expect(KlEstimator::K1, -2, -1, -1, 1);
  expect(KlEstimator::Abs, -2, -1, 1, -1);
  expect(KlEstimator::K2, -2, -1, .5, -1);
  expect(KlEstimator::K3, -2, -1, .718282, -1.718282);
}

TEST(Kl, PlusFormsKeepTheValueAndTakeTheGradientOfK2) {
  expect(KlEstimator::K1Plus, -2, -1, -1, -1);
  expect(KlEstimator::K3Plus, -2, -1, .718282, -1);
  expect(KlEstimator::K3Plus, -1, -3, std::exp(-2) + 1, 2);
}

TEST(Kl, K3IsNeverNegativeAndStaysFinite) {
  for (double d = -30; d <= 30; d += .37) {
    const Point p = at_point(KlEstimator::K3, d, 0);
    EXPECT_GE(p.value, 0) << d;
    EXPECT_LE(p.value, 10) << d;
    EXPECT_TRUE(std::isfinite(p.gradient)) << d;
  }
}

TEST(AdaptiveKl, FollowsTheTargetByBoundedSteps) {
  const auto after = [](double kl) { return AdaptiveKl(.001, .1, 1e4).update(kl, 1024); };
  EXPECT_NEAR(after(.2), .00102048, 1e-12);
  EXPECT_NEAR(after(.05), .00097952, 1e-12);
  EXPECT_NEAR(after(.11), .00101024, 1e-12);
  EXPECT_EQ(after(std::numeric_limits<double>::quiet_NaN()), .001);
}

}  // namespace
}  // namespace sluice
