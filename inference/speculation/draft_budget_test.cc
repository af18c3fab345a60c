#include "inference/speculation/draft_budget.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(DraftRecord, FollowsWhatHappensAndForgetsInTime) {
  DraftRecord record;
  EXPECT_DOUBLE_EQ(record.chance(), 0.5);
  for (int i = 0; i < 20; ++i) record.add(4, 4);
  EXPECT_GT(record.chance(), 0.9);
  for (int i = 0; i < 20; ++i) record.add(4, 0);
  EXPECT_LT(record.chance(), 0.2);
  const double low = record.chance();
  for (int i = 0; i < 4000; ++i) record.pass();
  EXPECT_GT(record.chance(), low);
  EXPECT_NEAR(record.chance(), 0.5, 0.01);
}

TEST(DraftRecord, TriesAgainInTheEndWhateverItKnows) {
  DraftRecord record;
  for (int i = 0; i < 20; ++i) record.add(1, 0);
  int passed = 0;
  for (; !record.due(); ++passed) record.pass();
  EXPECT_EQ(passed, DraftRecord::kPatience);
  record.pass();
  EXPECT_TRUE(record.due()) << "until a guess was made";
  record.add(1, 0);
  EXPECT_FALSE(record.due());
}

TEST(DraftRecord, LearnsNothingBehindAWrongGuess) {
  DraftRecord one, many;
  one.add(1, 0);
  many.add(9, 0);
  EXPECT_DOUBLE_EQ(one.chance(), many.chance());
  DraftRecord half;
  for (int i = 0; i < 100; ++i) half.add(5, 1);  // one right, one wrong, three unknown
  EXPECT_NEAR(half.chance(), 0.5, 0.05);
}

TEST(StepCost, FindsTheLineBehindNoisySteps) {
  StepCost cost;
  for (int i = 0; i < 200; ++i) {
    const int64_t rows = 1 + i % 6;
    const double noise = i % 3 == 0 ? 1.05 : 0.98;
    cost.add_step(rows, (0.020 + 0.003 * static_cast<double>(rows)) * noise);
  }
  EXPECT_NEAR(cost.of_row(), 0.003, 0.0006);
  EXPECT_NEAR(cost.of_step(4), 0.032, 0.002);
}

TEST(StepCost, BelievesInAnEighthUntilItKnowsBetter) {
  StepCost cost;
  EXPECT_DOUBLE_EQ(cost.of_row() / cost.of_step(0), 0.125);
  for (int i = 0; i < 50; ++i) cost.add_step(1, 0.018);
  EXPECT_NEAR(cost.of_row(), 0.002, 1e-6);
  cost.add_step(1, 0);  // a clock that stands still says nothing
  EXPECT_NEAR(cost.of_row(), 0.002, 1e-6);
}

int64_t granted(double chance, int64_t rows, const StepCost& cost = {}, int64_t budget = 100) {
  std::vector<DraftShare> shares(static_cast<size_t>(rows));
  for (DraftShare& share : shares) share = {chance, 16, 0};
  grant_drafts(shares, rows, budget, cost);
  int64_t sum = 0;
  for (const DraftShare& share : shares) sum += share.granted;
  return sum;
}

TEST(GrantDrafts, MoreForBetterChances) {
  EXPECT_EQ(granted(0.05, 1), 0);
  EXPECT_EQ(granted(0.5, 1), 2);
  EXPECT_GE(granted(0.93, 1), 8);
  EXPECT_EQ(granted(1, 1), 16);
  EXPECT_EQ(granted(1, 1, {}, 5), 5);
  EXPECT_EQ(granted(0, 1), 0);
}

TEST(GrantDrafts, FewerInLargeBatchesWhereARowIsNotFree) {
  EXPECT_GT(granted(0.6, 4), 0);
  EXPECT_EQ(granted(0.6, 64), 0);
  EXPECT_GT(granted(0.99, 64), 0);
}

TEST(GrantDrafts, GuessesThatCostMuchMustBeGood) {
  StepCost cost;
  for (int i = 0; i < 50; ++i) cost.add_step(1, 0.018);
  cost.add_guesses(4, 0.020);
  EXPECT_EQ(granted(0.3, 1, cost), 0);
  EXPECT_GT(granted(0.9, 1, cost), 0);
}

TEST(GrantDrafts, TheLikeliestFirst) {
  std::vector<DraftShare> shares = {{0.5, 8, 0}, {0.95, 8, 0}, {0.9, 2, 0}, {0.99, 0, 0}};
  grant_drafts(shares, 4, 6, {});
  EXPECT_EQ(shares[0].granted, 0);
  EXPECT_EQ(shares[1].granted, 4);
  EXPECT_EQ(shares[2].granted, 2);
  EXPECT_EQ(shares[3].granted, 0) << "wants none";
}

}  // namespace
}  // namespace sluice
