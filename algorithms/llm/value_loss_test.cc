#include "algorithms/llm/value_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

at::Tensor d(const std::vector<double>& v) { return at::tensor(v, at::TensorOptions(at::kDouble)); }

TEST(ValueLoss, ClippedWorkedNumber) {
  ValueLossConfig c;
  const ValueBatch b{d({1}).requires_grad_(true), d({.5}), d({2}), {}, at::zeros({1}, at::kLong)};
  const ValueLoss clipped = value_loss(c, b, {1, 1, 0});
  EXPECT_NEAR(clipped.total.item<double>(), .845, 1e-12);
  EXPECT_EQ(torch::autograd::grad({clipped.total}, {b.value})[0].item<double>(), 0);
  EXPECT_EQ(clipped.stats.clipped, 1);
  c.half = false;
  EXPECT_NEAR(value_loss(c, b, {1, 1, 0}).total.item<double>(), 1.69, 1e-12);
  c.half = true;
  c.clip = 0;
  EXPECT_NEAR(value_loss(c, b, {1, 1, 0}).total.item<double>(), .5, 1e-12);
}

TEST(ValueLoss, MaskedTokensAreNotRead) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor mask = at::tensor({1, 0}, at::kLong).to(at::kBool);
  const ValueBatch b{d({1, nan}).requires_grad_(true), d({1, nan}), d({3, nan}), mask,
                     at::zeros({2}, at::kLong)};
  const ValueLoss loss = value_loss({}, b, {1, 1, 0});
  EXPECT_DOUBLE_EQ(loss.total.item<double>(), 2);
  EXPECT_TRUE(at::equal(torch::autograd::grad({loss.total}, {b.value})[0], d({-2, 0})));
}

TEST(ValueLoss, ExplainedVarianceComesFromSums) {
  ValueLossConfig c;
  c.clip = 0;
  const at::Tensor sequence = at::zeros({2}, at::kLong);
  ValueStats stats;
  stats.add(value_loss(c, {d({1, 2}), {}, d({1, 3}), {}, sequence}, {4, 1, 0}).stats);
  stats.add(value_loss(c, {d({5, 6}), {}, d({5, 7}), {}, sequence}, {4, 1, 0}).stats);
  // returns 1, 3, 5, 7: variance 5; errors 0, 1, 0, 1: mean .5
  EXPECT_NEAR(stats.explained_variance(), .9, 1e-12);
  EXPECT_NEAR(stats.value_loss, .25, 1e-12);
  EXPECT_EQ(ValueStats{}.explained_variance(), 0);
}

}  // namespace
}  // namespace sluice
