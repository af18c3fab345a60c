#include "dataflow/base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace sluice {
namespace {

using ::testing::ElementsAre;

// Known answers of Random123's kat_vectors for philox4x32 with 10 rounds.
TEST(RandomKey, GivesThePublishedPhiloxNumbers) {
  EXPECT_THAT(RandomKey(0).bits(0, 0),
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(RandomKey(~0ULL).bits(~0ULL, ~0ULL),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  // Counter and key are digits of pi.
  EXPECT_THAT(RandomKey(0x299f31d0a4093822ULL).bits(0x85a308d3243f6a88ULL, 0x0370734413198a2eULL),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(RandomKey, SameKeyAndCounterGiveTheSameDraw) {
  const RandomKey a = RandomKey(1).split("rollout").split(3);
  const RandomKey b = RandomKey(1).split("rollout").split(3);
  EXPECT_EQ(a.word(17), b.word(17));
  EXPECT_EQ(a.uniform(17), b.uniform(17));
  EXPECT_EQ(a.normal(17), b.normal(17));
  EXPECT_NE(a.word(17), a.word(18));
}

TEST(RandomKey, ManySplitsNeverMeet) {
  std::set<uint64_t> seen;
  constexpr uint64_t kSeeds = 10;
  constexpr uint64_t kChildren = 1000;
  const RandomKey root(0);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (uint64_t i = 0; i < kChildren; ++i) {
      seen.insert(RandomKey(seed).split(i).value());
      seen.insert(RandomKey(seed).split("worker").split(i).value());
    }
  }
  EXPECT_EQ(seen.size(), 2 * kSeeds * kChildren);
  EXPECT_NE(root.split("a").value(), root.split("b").value());
  EXPECT_NE(root.split("").value(), root.value());
}

TEST(RandomKey, OrderOfSplitsMatters) {
  const RandomKey root(7);
  EXPECT_NE(root.split("a").split("b").value(), root.split("b").split("a").value());
  EXPECT_NE(root.split(1).split(2).value(), root.split(2).split(1).value());
}

TEST(RandomKey, NeighbouringStreamsAreUncorrelated) {
  const RandomKey root(11);
  const RandomKey a = root.split(0);
  const RandomKey b = root.split(1);
  constexpr int kN = 20'000;
  double product = 0;
  for (uint64_t i = 0; i < kN; ++i) product += (a.uniform(i) - 0.5) * (b.uniform(i) - 0.5);
  // Its standard deviation is 1/12 / sqrt(n) = 0.0006.
  EXPECT_LT(std::abs(product / kN), 0.003);
}

TEST(RandomKey, UniformFillsTheUnitIntervalEvenly) {
  const RandomKey key(3);
  constexpr int kN = 40'000;
  std::vector<int> bins(20);
  double sum = 0;
  for (uint64_t i = 0; i < kN; ++i) {
    const float u = key.uniform(i);
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    ++bins[static_cast<size_t>(u * 20)];
    sum += u;
  }
  double chi2 = 0;
  for (const int n : bins) chi2 += (n - kN / 20.0) * (n - kN / 20.0) / (kN / 20.0);
  EXPECT_LT(chi2, 43.8);  // 19 degrees of freedom, p = 0.001
  EXPECT_NEAR(sum / kN, 0.5, 0.007);
}

TEST(RandomKey, NormalHasTheRightMomentsAndIndependentHalves) {
  const RandomKey key(5);
  constexpr int kN = 40'000;
  double sum = 0;
  double square = 0;
  double fourth = 0;
  double cross = 0;
  for (uint64_t i = 0; i < kN; ++i) {
    const auto [x, y] = key.normal(i);
    ASSERT_TRUE(std::isfinite(x) && std::isfinite(y));
    for (const double z : {static_cast<double>(x), static_cast<double>(y)}) {
      sum += z;
      square += z * z;
      fourth += z * z * z * z;
    }
    cross += static_cast<double>(x) * y;
  }
  EXPECT_NEAR(sum / (2 * kN), 0, 0.015);
  EXPECT_NEAR(square / (2 * kN), 1, 0.02);
  EXPECT_NEAR(fourth / (2 * kN), 3, 0.15);
  EXPECT_NEAR(cross / kN, 0, 0.02);
}

TEST(Shuffle, IsAPermutationThatDependsOnTheKeyOnly) {
  constexpr int64_t kN = 1000;
  std::vector<int64_t> a(kN);
  std::vector<int64_t> b(kN, -1);
  std::vector<int64_t> other(kN);
  shuffle(RandomKey(1), kN, a.data());
  shuffle(RandomKey(1), kN, b.data());
  shuffle(RandomKey(2), kN, other.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  std::sort(a.begin(), a.end());
  std::vector<int64_t> all(kN);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(a, all);
}

TEST(Shuffle, ReachesEveryOrderEquallyOften) {
  std::map<std::vector<int64_t>, int> seen;
  constexpr int kN = 6000;
  for (uint64_t seed = 0; seed < kN; ++seed) {
    std::vector<int64_t> order(3);
    shuffle(RandomKey(9).split(seed), 3, order.data());
    ++seen[order];
  }
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [order, n] : seen) EXPECT_NEAR(n, 1000, 120);
}

TEST(Shuffle, TakesNothingAndOne) {
  shuffle(RandomKey(1), 0, nullptr);
  int64_t one = -1;
  shuffle(RandomKey(1), 1, &one);
  EXPECT_EQ(one, 0);
}

}  // namespace
}  // namespace sluice
