#include "algorithms/ops/advantages.h"

#include "dataflow/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

using Values = std::vector<double>;
using ::testing::Each;
using ::testing::ElementsAre;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

const AdvantageRule kComparing[] = {AdvantageRule::Grpo,
                                    AdvantageRule::DrGrpo,
                                    AdvantageRule::Rloo,
                                    AdvantageRule::LeaveOneOut,
                                    AdvantageRule::ReinforcePlusPlusBaseline,
                                    AdvantageRule::Opo,
                                    AdvantageRule::Gpg,
                                    AdvantageRule::MaxRl,
                                    AdvantageRule::PassK};

RolloutAdvantages run(AdvantageRule rule, const Values& reward, std::vector<int64_t> group = {},
                      double epsilon = 0) {
  if (group.empty()) group.assign(reward.size(), 7);
  const Values lengths(reward.size(), 5);
  return group_advantages(rule, {reward, group, lengths, {}}, epsilon);
}

void expect_near(const Values& got, const Values& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Advantages, EqualRewardsGiveExactlyZeroAndAreCounted) {
  for (const AdvantageRule rule : kComparing) {
    for (const Values& reward : {Values{1, 1, 1, 1}, Values{.1, .1, .1}}) {
      const RolloutAdvantages a = run(rule, reward, {}, 1e-6);
      EXPECT_THAT(a.advantage, Each(0.0));
      EXPECT_EQ(a.counts.zero_variance, 1);
    }
  }
}

TEST(Advantages, GrpoDividesByTheUnbiasedDeviation) {
  expect_near(run(AdvantageRule::Grpo, {1, 0, 0, 0}).advantage, {1.5, -.5, -.5, -.5}, 1e-12);
  EXPECT_NEAR(run(AdvantageRule::Grpo, {1, 0, 0, 0}, {}, 1e-6).advantage[0], 1.499997, 5e-7);
}

TEST(Advantages, SameRewardsUnderTheOtherRules) {
  const Values r{1, 0, 0, 0};
  expect_near(run(AdvantageRule::DrGrpo, r).advantage, {.75, -.25, -.25, -.25}, 1e-12);
  expect_near(run(AdvantageRule::Rloo, r).advantage, {1, -1. / 3, -1. / 3, -1. / 3}, 1e-12);
  expect_near(run(AdvantageRule::MaxRl, r).advantage, {3, -1, -1, -1}, 2e-5);
  expect_near(run(AdvantageRule::ReinforcePlusPlusBaseline, r).advantage, {.75, -.25, -.25, -.25},
              1e-12);
  expect_near(run(AdvantageRule::Gpg, r).advantage, {3, -1, -1, -1}, 1e-12);
  expect_near(run(AdvantageRule::PassK, r).advantage, {2, 0, 0, 0}, 1e-12);
}

TEST(Advantages, NearlyConstantGroupsDoNotBlowUp) {
  const Values r{0, .95, .95, .95, .95, .95, .95, .95};
  const Values grpo = run(AdvantageRule::Grpo, r).advantage;
  EXPECT_NEAR(grpo[0], -2.4749, 5e-5);
  EXPECT_NEAR(grpo[1], .35355, 5e-6);
  const Values rloo = run(AdvantageRule::Rloo, r).advantage;
  EXPECT_NEAR(rloo[0], -.95, 1e-12);
  EXPECT_NEAR(rloo[1], .135714, 5e-7);
  const Values loo = run(AdvantageRule::LeaveOneOut, r).advantage;
  EXPECT_NEAR(loo[0], -.95, 1e-12);  // the others have no spread: not divided
  EXPECT_NEAR(loo[1], .40825, 5e-6);
}

TEST(Advantages, AGroupOfOneGetsZeroAndIsCounted) {
  for (const AdvantageRule rule : kComparing) {
    const RolloutAdvantages a = run(rule, {1});
    EXPECT_THAT(a.advantage, ElementsAre(0.0));
    EXPECT_EQ(a.counts.singletons, 1);
    EXPECT_EQ(a.counts.zero_variance, 0);
  }
}

TEST(Advantages, AGroupOfTwo) {
  expect_near(run(AdvantageRule::Grpo, {1, 0}).advantage, {.70711, -.70711}, 5e-6);
  expect_near(run(AdvantageRule::Rloo, {1, 0}).advantage, {1, -1}, 1e-12);
  expect_near(run(AdvantageRule::LeaveOneOut, {1, 0}).advantage, {1, -1}, 1e-12);
}

TEST(Advantages, TwoRequestsOfTheSamePromptStayTwoGroups) {
  const RolloutAdvantages a = run(AdvantageRule::Grpo, {1, 1, 0, 0}, {4, 4, 9, 9});
  EXPECT_THAT(a.advantage, Each(0.0));
  EXPECT_EQ(a.counts.groups, 2);
  EXPECT_EQ(a.counts.zero_variance, 2);
}

TEST(Advantages, UnevenGroupsHaveTheirOwnStatisticsWhateverTheOrder) {
  const std::vector<int64_t> group{2, 1, 2, 1, 2, 1, 2};
  const Values a = run(AdvantageRule::DrGrpo, {1, 0, 0, 3, 0, 6, 0}, group).advantage;
  expect_near(a, {.75, -3, -.25, 0, -.25, 3, -.25}, 1e-12);
}

TEST(Advantages, FailedSamplesAreLeftOutOfEverything) {
  for (const double bad : {kNan, kInf, -kInf}) {
    const RolloutAdvantages a = run(AdvantageRule::Grpo, {1, 0, bad});
    expect_near(a.advantage, {.70711, -.70711, 0}, 5e-6);
    EXPECT_THAT(a.valid, ElementsAre(1, 1, 0));
    EXPECT_EQ(a.counts.failed, 1);
  }
}

TEST(Advantages, AGroupThatIsLostAltogetherLeavesTheRest) {
  for (const AdvantageRule rule : kComparing) {
    const RolloutAdvantages a = run(rule, {kNan, kNan, 1, 0}, {0, 0, 1, 1}, 1e-6);
    EXPECT_EQ(a.counts.lost, 1);
    EXPECT_EQ(a.advantage[0], 0);
    EXPECT_GT(a.advantage[2], 0);
    for (const double x : a.advantage) EXPECT_TRUE(std::isfinite(x));
  }
  EXPECT_EQ(run(AdvantageRule::Grpo, {}).counts.groups, 0);
}

TEST(Advantages, OpoWeighsTheBaselineByLength) {
  const Values reward{1, 0}, length{10, 30};
  const std::vector<int64_t> group{0, 0};
  const auto a = group_advantages(AdvantageRule::Opo, {reward, group, length, {}});
  expect_near(a.advantage, {.75, -.25}, 1e-12);
}

TEST(Advantages, RemaxSubtractsTheGreedySampleAndLosesWhatHasNone) {
  const Values reward{1, .25, 1}, greedy{.5, .5, kNan};
  const std::vector<int64_t> group{0, 0, 1};
  const auto a = group_advantages(AdvantageRule::ReMax, {reward, group, {}, greedy});
  expect_near(a.advantage, {.5, -.25, 0}, 1e-12);
  EXPECT_THAT(a.valid, ElementsAre(1, 1, 0));
}

TEST(Advantages, PassKRewardsOnlyTheBestByItsLead) {
  const Values a = run(AdvantageRule::PassK, {.2, .9, .5}).advantage;
  const double std = std::sqrt((.111111111 + .134444444 + .001111111) / 2);
  expect_near(a, {0, .4 / std, 0}, 1e-6);
  EXPECT_THAT(run(AdvantageRule::PassK, {1, 1, 0}).advantage, Each(0.0));  // a tie has no lead
}

TEST(Advantages, MaxRlOfAGroupWithoutSuccessIsZero) {
  EXPECT_THAT(run(AdvantageRule::MaxRl, {-1, 0, 0}).advantage, Each(0.0));
}

TEST(Advantages, WhatARuleNeedsMustBeThere) {
  const Values reward{1, 0};
  const std::vector<int64_t> group{0, 0};
  EXPECT_THROW((void)group_advantages(AdvantageRule::Opo, {reward, group, {}, {}}), CheckFailure);
  EXPECT_THROW((void)group_advantages(AdvantageRule::ReMax, {reward, group, {}, {}}), CheckFailure);
  EXPECT_THROW((void)group_advantages(AdvantageRule::Gae, {reward, group, {}, {}}), CheckFailure);
}

}  // namespace
}  // namespace sluice
