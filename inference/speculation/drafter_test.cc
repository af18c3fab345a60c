#include "dataflow/base/random.h"
#include "inference/speculation/ngram_drafter.h"
#include "inference/speculation/suffix_drafter.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice {
namespace {
using Tokens = std::vector<int64_t>;

Tokens guess(const TextDrafter& drafter, const Tokens& tokens, int64_t most) {
  Tokens out;
  drafter.guess(tokens, most, out);
  return out;
}

TEST(NgramDrafter, GuessesWhatFollowedTheLongestLatestMatch) {
  const NgramDrafter drafter;
  EXPECT_EQ(guess(drafter, {1, 2, 3, 4, 5, 9, 1, 2, 3}, 3), (Tokens{4, 5, 9}));
  // 7 2 3 matches longer than the later 2 3.
  EXPECT_EQ(guess(drafter, {7, 2, 3, 4, 0, 2, 3, 5, 7, 2, 3}, 1), (Tokens{4}));
  // Equally long: the later one.
  EXPECT_EQ(guess(drafter, {2, 3, 4, 0, 2, 3, 5, 9, 2, 3}, 1), (Tokens{5}));
  EXPECT_EQ(guess(drafter, {1, 2, 3, 4, 9, 4}, 3), Tokens{});  // one token is too short
  EXPECT_EQ(guess(drafter, {}, 3), Tokens{});
  EXPECT_EQ(guess(drafter, {1}, 3), Tokens{});
}

TEST(NgramDrafter, ARepetitionGoesOn) {
  const NgramDrafter drafter;
  EXPECT_EQ(guess(drafter, {5, 6, 5, 6, 5, 6}, 5), (Tokens{5, 6, 5, 6, 5}));
  EXPECT_EQ(guess(drafter, {8, 8, 8}, 4), (Tokens{8, 8, 8, 8}));
}

TEST(NgramDrafter, LooksNoFurtherBackThanItsWindow) {
  const NgramDrafter drafter({4, 2, 6});
  EXPECT_EQ(guess(drafter, {1, 2, 3, 0, 0, 9, 8, 7, 1, 2}, 2), Tokens{});
  EXPECT_EQ(guess(drafter, {1, 2, 3, 9, 1, 2}, 2), (Tokens{3, 9}));
}

TEST(SuffixDrafter, GuessesWhatFollowsMostOften) {
  SuffixDrafter drafter;
  drafter.add(Tokens{1, 2, 3, 4});
  drafter.add(Tokens{1, 2, 5, 6});
  drafter.add(Tokens{9, 1, 2, 5, 7});
  EXPECT_EQ(guess(drafter, {0, 1, 2}, 1), (Tokens{5}));
  // 9 1 2 matches longer and says the rest.
  EXPECT_EQ(guess(drafter, {9, 1, 2}, 4), (Tokens{5, 7}));
  EXPECT_EQ(guess(drafter, {3, 4}, 4), Tokens{});
  EXPECT_EQ(guess(drafter, {2}, 4), Tokens{});
  EXPECT_EQ(guess(drafter, {}, 4), Tokens{});
}

TEST(SuffixDrafter, GoesOnBeyondItsDepth) {
  SuffixDrafter drafter({6, 2, 1000, 0.3});
  Tokens rollout;
  for (int64_t i = 0; i < 40; ++i) rollout.push_back(i);
  drafter.add(rollout);
  EXPECT_EQ(guess(drafter, {3, 4}, 20),
            (Tokens{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}));
}

TEST(SuffixDrafter, DoesNotGuessWhatIsUnlikely) {
  SuffixDrafter drafter;
  for (int64_t i = 0; i < 10; ++i) drafter.add(Tokens{1, 2, 10 + i});
  EXPECT_EQ(guess(drafter, {1, 2}, 1), Tokens{});
}

TEST(SuffixDrafter, ForgetsTheOldestAndAllItsMemory) {
  SuffixDrafter drafter({4, 2, 30, 0.3});
  drafter.add(Tokens{1, 2, 3, 4, 5});
  for (int64_t i = 0; i < 5; ++i) drafter.add(Tokens{100 + i, 200 + i, 300 + i, 400 + i, 500 + i});
  EXPECT_EQ(guess(drafter, {1, 2}, 1), (Tokens{3}));
  drafter.add(Tokens{7});
  EXPECT_EQ(drafter.tokens(), 26U);
  EXPECT_EQ(guess(drafter, {1, 2}, 1), Tokens{});
  drafter.add(Tokens(100, 6));  // longer than all it may keep: its end
  EXPECT_EQ(drafter.tokens(), 30U);
  EXPECT_EQ(drafter.nodes(), 1U + 4U);
}

/// What the tree says, by counting every stretch of the rollouts that are kept.
TEST(SuffixDrafter, CountsEqualAPlainCountAfterManyRollouts) {
  SuffixDrafter drafter({5, 1, 200, 0});
  std::vector<Tokens> all;
  for (uint64_t r = 0; r < 60; ++r) {
    Tokens rollout;
    const RandomKey key = RandomKey(1).split(r);
    for (uint64_t i = 0; i < 5 + key.word(0) % 30; ++i) {
      rollout.push_back(static_cast<int64_t>(key.word(i + 1) % 4));
    }
    all.push_back(rollout);
    drafter.add(rollout);
    size_t first = all.size(), kept = 0;
    while (first > 0 && kept + all[first - 1].size() <= 200) kept += all[--first].size();
    ASSERT_EQ(drafter.tokens(), kept);
    std::map<Tokens, int> counts;
    for (size_t k = first; k < all.size(); ++k) {
      for (size_t b = 0; b < all[k].size(); ++b) {
        for (size_t n = 1; n <= 5 && b + n <= all[k].size(); ++n) {
          ++counts[Tokens(all[k].begin() + static_cast<std::ptrdiff_t>(b),
                          all[k].begin() + static_cast<std::ptrdiff_t>(b + n))];
        }
      }
    }
    ASSERT_EQ(drafter.nodes(), counts.size() + 1);
    for (int64_t a = 0; a < 16; ++a) {
      Tokens context = {a / 4, a % 4};
      Tokens want;
      for (size_t drop = 0; drop < 2 && want.empty(); ++drop) {
        int most = 0;
        for (int64_t t = 0; t < 4; ++t) {
          Tokens next(context.begin() + static_cast<std::ptrdiff_t>(drop), context.end());
          next.push_back(t);
          const auto found = counts.find(next);
          if (found == counts.end() || found->second <= most) continue;
          most = found->second;
          want = {t};
        }
      }
      ASSERT_EQ(guess(drafter, context, 1), want);
    }
  }
}

}  // namespace
}  // namespace sluice
