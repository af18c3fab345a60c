#include "algorithms/llm/preference_loss.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace sluice {
namespace {

at::Tensor d(const std::vector<double>& v) { return at::tensor(v, at::TensorOptions(at::kDouble)); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(PreferenceLoss, DpoWorkedNumbers) {
  const PreferenceConfig c;
  const PreferencePairs pairs{d({-10}).requires_grad_(true), d({-12}), d({-11}), d({-11}), {}, {}};
  const PreferenceResult r = preference_loss(c, pairs, 1);
  EXPECT_NEAR(r.total.item<double>(), .598139, 5e-7);
  EXPECT_NEAR(torch::autograd::grad({r.total}, {pairs.chosen})[0].item<double>(),
              -.1 * sigmoid(-.2), 1e-12);
  EXPECT_EQ(r.stats.correct, 1);
  EXPECT_NEAR(r.stats.margin, .2, 1e-12);
  const PreferencePairs equal{d({-10}), d({-10}), d({-11}), d({-11}), {}, {}};
  EXPECT_NEAR(preference_loss(c, equal, 1).total.item<double>(), .693147, 5e-7);
}

TEST(PreferenceLoss, LabelSmoothingMixesInTheOtherLabel) {
  PreferenceConfig c;
  c.label_smoothing = .1;
  const PreferencePairs pairs{d({-10}), d({-12}), d({-11}), d({-11}), {}, {}};
  EXPECT_NEAR(preference_loss(c, pairs, 1).total.item<double>(),
              -.9 * std::log(sigmoid(.2)) - .1 * std::log(sigmoid(-.2)), 1e-12);
}

TEST(PreferenceLoss, IpoAimsAtAMarginPerToken) {
  PreferenceConfig c;
  c.loss = PreferenceLoss::Ipo;
  c.beta = .5;  // the margin aimed at is 1
  const PreferencePairs pairs{d({-10}), d({-12}), d({-12}), d({-11}), d({4}), d({2})};
  EXPECT_NEAR(preference_loss(c, pairs, 1).total.item<double>(), 0, 1e-12);  // 2/4 + 1/2 = 1
  const PreferencePairs equal{d({-10}), d({-10}), d({-10}), d({-10}), d({4}), d({2})};
  EXPECT_NEAR(preference_loss(c, equal, 1).total.item<double>(), 1, 1e-12);
}

TEST(PreferenceLoss, OrpoIsTheLikelihoodPlusTheOddsRatio) {
  PreferenceConfig c;
  c.loss = PreferenceLoss::Orpo;
  const double w = std::log(.6), l = std::log(.2);
  const PreferencePairs pairs{d({3 * w}).requires_grad_(true), d({2 * l}), {}, {}, d({3}), d({2})};
  const PreferenceResult r = preference_loss(c, pairs, 1);
  const double odds = (.6 / .4) / (.2 / .8);
  EXPECT_NEAR(r.total.item<double>(), -w - .1 * std::log(sigmoid(std::log(odds))), 1e-9);
  EXPECT_NEAR(r.stats.margin, std::log(odds), 1e-9);
}

TEST(PreferenceLoss, OrpoStaysFiniteNearCertainty) {
  PreferenceConfig c;
  c.loss = PreferenceLoss::Orpo;
  for (const double lp : {0., -1e-12, -500.}) {
    const PreferencePairs pairs{d({lp}).requires_grad_(true), d({-1}), {}, {}, d({1}), d({1})};
    const PreferenceResult r = preference_loss(c, pairs, 1);
    EXPECT_TRUE(std::isfinite(r.total.item<double>())) << lp;
    EXPECT_TRUE(std::isfinite(torch::autograd::grad({r.total}, {pairs.chosen})[0].item<double>()));
  }
}

TEST(PreferenceLoss, MicroBatchesAddUp) {
  const PreferenceConfig c;
  const PreferencePairs both{d({-1, -2}), d({-3, -1}), d({-1, -1}), d({-1, -1}), {}, {}};
  const PreferencePairs first{d({-1}), d({-3}), d({-1}), d({-1}), {}, {}};
  const PreferencePairs second{d({-2}), d({-1}), d({-1}), d({-1}), {}, {}};
  EXPECT_NEAR(
      (preference_loss(c, first, 2).total + preference_loss(c, second, 2).total).item<double>(),
      preference_loss(c, both, 2).total.item<double>(), 1e-12);
}

TEST(PreferenceLoss, KtoPullsGoodUpAndBadDownAroundTheReferencePoint) {
  PreferenceConfig c;
  c.kto_undesirable = 2;
  const at::Tensor lp = d({-10, -10}).requires_grad_(true);
  const at::Tensor desirable = at::tensor({1, 0}, at::kLong).to(at::kBool);
  const PreferenceResult r = kto_loss(c, lp, d({-12, -12}), desirable, .5, 2);
  EXPECT_NEAR(r.total.item<double>(), (1 - sigmoid(.15) + 2 * (1 - sigmoid(-.15))) / 2, 1e-12);
  const at::Tensor g = torch::autograd::grad({r.total}, {lp})[0];
  EXPECT_LT(g[0].item<double>(), 0);
  EXPECT_GT(g[1].item<double>(), 0);
  EXPECT_EQ(r.stats.correct, 1);
  EXPECT_NEAR(kto_loss(c, lp, d({-12, -12}), desirable, -3, 2).total.item<double>(),
              kto_loss(c, lp, d({-12, -12}), desirable, 0, 2).total.item<double>(), 1e-12);
}

TEST(BradleyTerryLoss, WorkedNumberMarginAndCentre) {
  EXPECT_NEAR(bradley_terry_loss(d({1.5}), d({.5}), {}, 0, 1).total.item<double>(), .313262, 5e-7);
  EXPECT_NEAR(bradley_terry_loss(d({1.5}), d({.5}), d({1}), 0, 1).total.item<double>(), .693147,
              5e-7);
  EXPECT_NEAR(bradley_terry_loss(d({1.5}), d({.5}), {}, .01, 1).total.item<double>(), .313262 + .04,
              5e-7);
}

TEST(PreferenceLoss, WhatItNeedsMustBeThere) {
  PreferenceConfig c;
  EXPECT_THROW((void)preference_loss(c, {d({-1}), d({-2}), {}, {}, {}, {}}, 1), CheckFailure);
  c.loss = PreferenceLoss::Orpo;
  EXPECT_THROW((void)preference_loss(c, {d({-1}), d({-2}), {}, {}, {}, {}}, 1), CheckFailure);
}

}  // namespace
}  // namespace sluice
