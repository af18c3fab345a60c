#include "algorithms/llm/token_advantages.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor d(const std::vector<double>& v) { return at::tensor(v, at::TensorOptions(at::kDouble)); }
at::Tensor ids(const std::vector<int64_t>& v) {
  return at::tensor(v, at::TensorOptions(at::kLong));
}

void expect_near(const at::Tensor& got, const std::vector<double>& want) {
  EXPECT_TRUE(at::allclose(got, d(want), 1e-9, 1e-9)) << got;
}

// Two groups of two; rollouts of 2, 1, 1 and 2 tokens.
struct Fixture {
  std::vector<double> reward{1, 0, 3, kNan};
  std::vector<int64_t> group{0, 0, 1, 1};
  RolloutSet set() {
    RolloutSet s;
    s.reward = reward;
    s.group = group;
    s.sequence = ids({0, 0, 1, 2, 3, 3});
    s.mask = ids({1, 1, 1, 1, 1, 0}).to(at::kBool);
    return s;
  }
};

AdvantageConfig with(AdvantageRule rule) {
  AdvantageConfig c;
  c.rule = rule;
  return c;
}

TEST(TokenAdvantages, RolloutsGiveTheirNumberToTheirTokensAndFailedOnesLeaveTheMask) {
  Fixture f;
  const TokenAdvantages a = token_advantages(with(AdvantageRule::DrGrpo), f.set());
  expect_near(a.advantage, {.5, .5, -.5, 0, 0, 0});
  EXPECT_TRUE(at::equal(a.mask, ids({1, 1, 1, 1, 0, 0}).to(at::kBool)));
  EXPECT_EQ(a.counts.failed, 1);
  EXPECT_EQ(a.counts.singletons, 1);
}

TEST(TokenAdvantages, KlIsTakenOffTheRewardOfARollout) {
  Fixture f;
  RolloutSet s = f.set();
  s.logprob = d({-1, -1, -1, -1, -1, -1});
  s.reference = d({-2, -1.5, -1, -1, kNan, kNan});
  AdvantageConfig c = with(AdvantageRule::Rloo);
  c.kl_coef = .1;
  const TokenAdvantages a = token_advantages(c, s);
  expect_near(a.advantage, {.85, .85, -.85, 0, 0, 0});  // 1 - .15 against 0
  EXPECT_NEAR(a.kl, .5, 1e-12);                         // 1.5 over three samples
  EXPECT_NEAR(token_advantages(c, s, .2).advantage[0].item<double>(), .7, 1e-12);
}

TEST(TokenAdvantages, ReinforcePlusPlusSumsTokenRewardsAndWhitens) {
  Fixture f;
  f.reward = {1, 0, 3, 2};
  AdvantageConfig c = with(AdvantageRule::ReinforcePlusPlus);
  c.gamma = .5;
  expect_near(token_advantages(c, f.set()).advantage, {.5, 1, 0, 3, 2, 0});
  c.whiten = true;
  const at::Tensor white = token_advantages(c, f.set()).advantage;
  EXPECT_NEAR(white.sum().item<double>(), 0, 1e-9);
  EXPECT_NEAR(white.square().sum().item<double>(), 4, 1e-6);  // 5 tokens, unbiased
}

TEST(TokenAdvantages, GaeGivesReturnsForTheCritic) {
  Fixture f;
  RolloutSet s = f.set();
  s.value = d({.5, .25, 1, 1, 9, 9});
  const TokenAdvantages a = token_advantages(with(AdvantageRule::Gae), s);
  expect_near(a.advantage, {.5, .75, -1, 2, 0, 0});
  expect_near(a.returns, {1, 1, 0, 3, 0, 0});
  s.value = at::Tensor();
  EXPECT_THROW((void)token_advantages(with(AdvantageRule::Gae), s), CheckFailure);
}

TEST(TokenAdvantages, RemaxSubtractsTheGreedyRewardAndDropsWhatHasNone) {
  Fixture f;
  const std::vector<double> greedy{.25, .25, kNan, 0};
  RolloutSet s = f.set();
  s.baseline = greedy;
  const TokenAdvantages a = token_advantages(with(AdvantageRule::ReMax), s);
  expect_near(a.advantage, {.75, .75, -.25, 0, 0, 0});
  EXPECT_TRUE(at::equal(a.mask, ids({1, 1, 1, 0, 0, 0}).to(at::kBool)));
}

TEST(TokenAdvantages, OpoCountsTrainedTokens) {
  Fixture f;
  const TokenAdvantages a = token_advantages(with(AdvantageRule::Opo), f.set());
  expect_near(a.advantage, {1. / 3, 1. / 3, -2. / 3, 0, 0, 0});  // baseline 2/3
}

TEST(TokenAdvantages, RewardsAreShiftedScaledAndClipped) {
  Fixture f;
  AdvantageConfig c = with(AdvantageRule::ReinforcePlusPlus);
  c.reward_bias = -.5;
  c.reward_scale = 10;
  c.reward_clip = 20;
  expect_near(token_advantages(c, f.set()).advantage, {5, 5, -5, 20, 0, 0});
}

TEST(TokenAdvantages, NothingValidIsNoError) {
  Fixture f;
  f.reward = {kNan, kNan, kNan, kNan};
  for (const AdvantageRule rule : {AdvantageRule::Grpo, AdvantageRule::ReinforcePlusPlus}) {
    AdvantageConfig c = with(rule);
    c.whiten = true;
    const TokenAdvantages a = token_advantages(c, f.set());
    EXPECT_FALSE(a.mask.any().item<bool>());
    EXPECT_TRUE(a.advantage.eq(0).all().item<bool>());
  }
}

}  // namespace
}  // namespace sluice
