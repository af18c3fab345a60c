#include "models/nets/running_stats.h"

#include "dataflow/base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

TEST(RunningStats, MergesAsWorkedOut) {
  RunningStats a, b;
  const float first[] = {1, 2, 3, 4}, second[] = {10, 12};
  a.update(first, 4);
  b.update(second, 2);
  a.merge(b);
  EXPECT_NEAR(a.mean()[0], 32.0 / 6, 1e-12);
  EXPECT_NEAR(a.variance(), 17.2222222222222, 1e-12);
  EXPECT_EQ(a.count(), 6);
}

TEST(RunningStats, TheOrderOfMergesDoesNotMatter) {
  std::vector<RunningStats> parts;
  for (uint64_t i = 0; i < 6; ++i) {
    std::vector<float> rows;
    for (uint64_t j = 0; j < 3 * (i + 1); ++j) rows.push_back(5 + RandomKey(i).normal(j)[0]);
    parts.emplace_back(3);
    parts.back().update(rows.data(), static_cast<int64_t>(i + 1));
  }
  RunningStats forward(3), backward(3), tree(3);
  for (size_t i = 0; i < 6; ++i) forward.merge(parts[i]);
  for (size_t i = 6; i-- > 0;) backward.merge(parts[i]);
  RunningStats left = parts[1];
  left.merge(parts[4]);
  for (const size_t i : {3, 0, 5, 2}) tree.merge(parts[i]);
  tree.merge(left);
  for (int64_t j = 0; j < 3; ++j) {
    const auto k = static_cast<size_t>(j);
    EXPECT_NEAR(forward.mean()[k], backward.mean()[k], 1e-12);
    EXPECT_NEAR(forward.mean()[k], tree.mean()[k], 1e-12);
    EXPECT_NEAR(forward.variance(j), backward.variance(j), 1e-12);
    EXPECT_NEAR(forward.variance(j), tree.variance(j), 1e-12);
  }
}

TEST(RunningStats, NormalisesAndClipsPerElement) {
  RunningStats stats(2);
  const float rows[] = {1, 10, 3, 30};
  stats.update(rows, 2);
  float out[4];
  stats.normalise(rows, 2, 10, out);
  EXPECT_NEAR(out[0], -1, 1e-6);
  EXPECT_NEAR(out[3], 1, 1e-6);
  const float far[] = {1e6F, -1e6F};
  stats.normalise(far, 1, 5, out);
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], -5);
}

TEST(RunningStats, LoadsWhatItSavedAndRefusesAnotherWidth) {
  RunningStats stats(2), copy(2), other(3);
  const float rows[] = {1, 10, 3, 30};
  stats.update(rows, 2);
  const auto state = stats.save();
  ASSERT_TRUE(copy.load(state).ok());
  EXPECT_EQ(copy.save(), state);
  EXPECT_FALSE(other.load(state).ok());
}

TEST(ReturnNormaliser, RunsDiscountedReturnsPerSlotAndResetsAtTheEnd) {
  ReturnNormaliser norm(0.99);
  const std::vector<float> ones(3, 1);
  std::vector<float> out(3);
  norm.normalise(0, ones.data(), {0, 0, 0}, 10, out.data());
  EXPECT_NEAR(norm.running_return(0), 2.9701, 1e-12);
  // Variance of {1, 1.99, 2.9701}, and the mean is not taken off.
  EXPECT_NEAR(static_cast<double>(out[0]), 1 / std::sqrt(0.6469019), 1e-4);
  EXPECT_EQ(out[0], out[2]) << "one scale for all that was noted together";
  EXPECT_EQ(norm.running_return(1), 0);
  norm.normalise(0, ones.data(), {0, 1}, 0.5F, out.data());
  EXPECT_EQ(norm.running_return(0), 0);
  EXPECT_EQ(out[0], 0.5F) << "clamped";
}

TEST(ReturnNormaliser, StepsThatDoNotFollowOnStartFromZero) {
  ReturnNormaliser norm(0.5);
  const float reward = 4;
  float out = 0;
  norm.normalise(2, &reward, {0}, 10, &out);
  EXPECT_EQ(norm.running_return(2), 4);
  norm.cut(2);
  norm.cut(7);  // one it has never seen
  norm.normalise(2, &reward, {0}, 10, &out);
  EXPECT_EQ(norm.running_return(2), 4);
}

TEST(ReturnNormaliser, LoadsWhatItSaved) {
  ReturnNormaliser norm(0.9);
  const std::vector<float> rewards = {1, -2, 5};
  std::vector<float> out(3);
  norm.normalise(1, rewards.data(), {0, 0, 0}, 10, out.data());
  ReturnNormaliser copy(0.9);
  ASSERT_TRUE(copy.load(norm.save()).ok());
  EXPECT_EQ(copy.save(), norm.save());
  EXPECT_EQ(copy.running_return(1), norm.running_return(1));
  EXPECT_FALSE(copy.load(std::vector<double>{1, 2}).ok());
}

}  // namespace
}  // namespace sluice
