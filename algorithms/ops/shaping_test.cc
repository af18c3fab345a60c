#include "algorithms/ops/shaping.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

using ::testing::ElementsAre;

TEST(OverlongPenalty, FallsLinearlyOverTheBufferAndStops) {
  const OverlongPenalty penalty;
  EXPECT_EQ(penalty(0), 0);
  EXPECT_EQ(penalty(16384), 0);
  EXPECT_NEAR(penalty(16385), -.000244, 5e-7);
  EXPECT_EQ(penalty(18432), -.5);
  EXPECT_EQ(penalty(20480), -1);
  EXPECT_EQ(penalty(22528), -1);
}

TEST(OverlongPenalty, UncappedGoesOnAsSomePeersDo) {
  OverlongPenalty penalty;
  penalty.capped = false;
  EXPECT_EQ(penalty(22528), -1.5);
}

TEST(Informative, KeepsGroupsWithADifferenceAndNoFailedSample) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> metric{1, 0, nan, 1, 1, nan, 2, nan};
  const std::vector<int64_t> group{0, 0, 0, 1, 1, 1, 2, 3};
  EXPECT_THAT(informative(metric, group), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
}

TEST(UniformShare, OfGroupsWithoutAGradient) {
  EXPECT_NEAR(uniform_share(.1819, 2), .70238, 2e-5);
  EXPECT_NEAR(uniform_share(.1819, 8), .20066, 2e-5);
  EXPECT_DOUBLE_EQ(uniform_share(.5, 4), .125);
  EXPECT_DOUBLE_EQ(uniform_share(.5, 8), .0078125);
  EXPECT_NEAR(uniform_share(.1, 8), .43047, 5e-6);
}

TEST(Without, DropsWholeRolloutsFromTheMask) {
  const at::Tensor sequence = at::tensor({0, 0, 1, 2}, at::kLong);
  const at::Tensor mask = at::tensor({1, 0, 1, 1}, at::kLong).to(at::kBool);
  const std::vector<uint8_t> drop{0, 1, 0};
  EXPECT_TRUE(
      at::equal(without(mask, sequence, drop), at::tensor({1, 0, 0, 1}, at::kLong).to(at::kBool)));
  EXPECT_TRUE(
      at::equal(without({}, sequence, drop), at::tensor({1, 1, 0, 1}, at::kLong).to(at::kBool)));
}

TEST(ToTokens, GivesEachTokenItsRolloutsNumber) {
  const at::Tensor sequence = at::tensor({0, 1, 1}, at::kLong);
  const std::vector<double> numbers{2, -1};
  EXPECT_TRUE(at::equal(to_tokens(numbers, sequence), at::tensor({2, -1, -1}, at::kFloat)));
}

}  // namespace
}  // namespace sluice
