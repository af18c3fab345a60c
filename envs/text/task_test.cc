#include "envs/text/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(WeightedSum, AddsValueTimesWeight) {
  const TextScore score =
      weighted_sum({{"correct", 1, 1}, {"format", 0.5, 0.2}, {"length", -1, 0.1}});
  EXPECT_FALSE(score.failed);
  EXPECT_DOUBLE_EQ(score.reward, 1.0);
  EXPECT_EQ(score.parts.size(), 3U);
  EXPECT_EQ(weighted_sum({}).reward, 0);
}

TEST(WeightedSum, APartThatIsNotFiniteFailsAndIsNamed) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    const TextScore score =
        weighted_sum({{"correct", 1, 1}, {"judge", bad, 0.5}, {"length", 1, 1}});
    EXPECT_TRUE(score.failed);
    EXPECT_EQ(score.reward, 0);
    EXPECT_THAT(score.why, HasSubstr("'judge'"));
    EXPECT_EQ(score.parts.size(), 3U);
  }
}

TEST(FailedScore, IsNotARewardOfZero) {
  EXPECT_TRUE(failed_score("no answer").failed);
  EXPECT_EQ(failed_score("no answer").why, "no answer");
  EXPECT_FALSE(right_or_wrong(false).failed);
  EXPECT_EQ(right_or_wrong(true).reward, 1);
}

}  // namespace
}  // namespace sluice
