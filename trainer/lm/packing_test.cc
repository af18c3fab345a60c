#include "trainer/lm/packing.h"

#include <gmock/gmock.h>

#include <numeric>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

int64_t total(const std::vector<size_t>& bin, const std::vector<int64_t>& sizes) {
  return std::accumulate(bin.begin(), bin.end(), int64_t{0},
                         [&](int64_t sum, size_t i) { return sum + sizes[i]; });
}

struct Case {
  std::vector<int64_t> sizes;
  int64_t budget;
  Packing expected;
};

TEST(PackBestFit, GivesTheBinsOfTheTable) {
  const std::vector<Case> table = {
      {{}, 10, {}},
      {{0}, 10, {{0}}},
      {{10}, 10, {{0}}},
      {{4, 3, 3}, 10, {{0, 1, 2}}},
      {{7, 6, 3, 4}, 10, {{0, 2}, {1, 3}}},
      // Two bins suffice, and are evened: first fit would leave 9 and 3.
      {{5, 4, 2, 1}, 9, {{0, 3}, {1, 2}}},
      // Evening alone would need 11 of 10: the packing of best fit stays.
      {{5, 5, 4, 3, 3}, 10, {{0, 1}, {2, 3, 4}}},
  };
  for (const Case& c : table) {
    const auto packing = pack_best_fit(c.sizes, c.budget);
    ASSERT_TRUE(packing.ok()) << packing.status().to_string();
    EXPECT_EQ(*packing, c.expected) << testing::PrintToString(c.sizes);
  }
}

TEST(PackBestFit, HoldsEveryItemOnceWithinTheBudget) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<int64_t> sizes;
    uint64_t x = seed;
    for (uint64_t i = 0; i < 20 + seed; ++i) {
      x = x * 6364136223846793005ULL + 1442695040888963407ULL;
      sizes.push_back(static_cast<int64_t>((x >> 33) % 100));
    }
    const auto packing = pack_best_fit(sizes, 128);
    ASSERT_TRUE(packing.ok());
    std::vector<int> seen(sizes.size());
    for (const auto& bin : *packing) {
      EXPECT_LE(total(bin, sizes), 128);
      for (const size_t i : bin) ++seen[i];
    }
    EXPECT_THAT(seen, testing::Each(1));
  }
}

TEST(PackBestFit, EqualItemsAreSharedOutEvenly) {
  const std::vector<int64_t> sizes(6, 10);
  const auto packing = pack_best_fit(sizes, 40);
  ASSERT_TRUE(packing.ok());
  EXPECT_THAT(*packing, ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
}

TEST(PackBestFit, NamesAnItemAboveTheBudget) {
  const std::vector<int64_t> sizes = {5, 12};
  const auto packing = pack_best_fit(sizes, 10, "group");
  ASSERT_FALSE(packing.ok());
  EXPECT_EQ(packing.status().code(), Code::InvalidArgument);
  EXPECT_THAT(packing.status().message(), HasSubstr("group 1 has 12 tokens"));
  EXPECT_THAT(packing.status().message(), HasSubstr("budget of 10"));
  const std::vector<int64_t> negative = {-1};
  EXPECT_THAT(pack_best_fit(negative, 10).status().message(), HasSubstr("item 0"));
}

}  // namespace
}  // namespace sluice
