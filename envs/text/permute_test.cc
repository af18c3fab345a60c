#include "envs/text/permute.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace sluice {
namespace {

TEST(Permuted, GivesEveryIndexOnceWhateverTheSize) {
  for (const int64_t n : {1, 2, 3, 4, 5, 16, 17, 64, 100, 257, 1000}) {
    std::vector<int> seen(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = permuted(RandomKey(7), n, i);
      ASSERT_TRUE(at >= 0 && at < n) << n;
      ++seen[static_cast<size_t>(at)];
    }
    for (const int count : seen) ASSERT_EQ(count, 1) << n;
  }
}

TEST(Permuted, SpreadsTheFirstIndicesEvenlyOverTheKeys) {
  std::vector<int64_t> hits(10);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    ++hits[static_cast<size_t>(permuted(RandomKey(seed), 10, 0))];
  }
  double chi = 0;  // 9 degrees of freedom: 27.9 has p = 0.001
  for (const int64_t h : hits)
    chi += (static_cast<double>(h) - 400) * (static_cast<double>(h) - 400) / 400;
  EXPECT_LT(chi, 27.9);
}

TEST(Permuted, ReachesTheLargestSizes) {
  const int64_t n = INT64_MAX;
  const int64_t a = permuted(RandomKey(1), n, 0);
  const int64_t b = permuted(RandomKey(1), n, n - 1);
  EXPECT_TRUE(a >= 0 && a < n && b >= 0 && b < n && a != b);
}

}  // namespace
}  // namespace sluice
