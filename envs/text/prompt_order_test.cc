#include "envs/text/prompt_order.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice {
namespace {

std::vector<int64_t> take(PromptOrder& order, int n) {
  std::vector<int64_t> out;
  for (int i = 0; i < n; ++i) out.push_back(order.next());
  return out;
}

TEST(PromptOrder, HoldsEveryIndexOnceAnEpochAndShufflesEachAnew) {
  PromptOrder order(3, 80);
  const auto first = take(order, 80);
  const auto second = take(order, 80);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 80U);
  EXPECT_EQ(std::set<int64_t>(second.begin(), second.end()).size(), 80U);
  EXPECT_NE(first, second);
  PromptOrder other(4, 80);
  EXPECT_NE(take(other, 80), first);
}

TEST(PromptOrder, ResumesAnywhereAsIfNeverInterrupted) {
  PromptOrder whole(9, 7);
  const auto all = take(whole, 40);
  for (int stop = 0; stop < 40; ++stop) {
    PromptOrder before(9, 7);
    take(before, stop);
    PromptOrder after(9, 7);
    ASSERT_TRUE(after.seek(before.cursor()).ok());
    EXPECT_EQ(after.taken(), stop);
    EXPECT_EQ(take(after, 40 - stop), std::vector<int64_t>(all.begin() + stop, all.end()));
  }
}

TEST(PromptOrder, TheEndOfAnEpochIsTheBeginningOfTheNext) {
  PromptOrder order(1, 5);
  take(order, 5);
  EXPECT_EQ(order.cursor(), (PromptCursor{1, 0}));
  PromptOrder resumed(1, 5);
  ASSERT_TRUE(resumed.seek({0, 5}).ok());
  EXPECT_EQ(resumed.cursor(), (PromptCursor{1, 0}));
  EXPECT_EQ(resumed.next(), order.next());
}

TEST(PromptOrder, RefusesACursorOfAnotherSplit) {
  PromptOrder order(1, 5);
  EXPECT_EQ(order.seek({0, 6}).code(), Code::DataLoss);
  EXPECT_EQ(order.seek({-1, 0}).code(), Code::DataLoss);
  EXPECT_EQ(order.seek({0, -1}).code(), Code::DataLoss);
  EXPECT_EQ(PromptOrder(1, -1).seek({1, 0}).code(), Code::DataLoss);
  EXPECT_EQ(order.cursor(), (PromptCursor{0, 0}));
}

TEST(PromptOrder, WalksInOrderWhenAskedOrWhenThereIsNoEnd) {
  PromptOrder in_order(1, 3, PromptOrder::Kind::InOrder);
  EXPECT_EQ(take(in_order, 5), (std::vector<int64_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(in_order.taken(), 5);
  PromptOrder endless(1, -1);
  EXPECT_EQ(take(endless, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(endless.cursor(), (PromptCursor{0, 3}));
  EXPECT_THROW(PromptOrder(1, 0), CheckFailure);
}

}  // namespace
}  // namespace sluice
