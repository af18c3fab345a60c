#include "inference/kv/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Tokens = std::vector<int64_t>;

VersionTag version(int64_t step) { return {7, 1, step, 99}; }
const ChainPoint kRoot = prefix_root(version(1));

uint64_t constant_hash(const ChainPoint&, std::span<const int64_t>) { return 42; }

TEST(PrefixCache, FindsTheLongestChainOfFullBlocks) {
  PrefixCache cache(8, 2);
  const ChainPoint one = cache.insert(kRoot, Tokens{1, 2}, 0);
  cache.insert(one, Tokens{3, 4}, 5);
  const Tokens same = {1, 2, 3, 4, 5};
  EXPECT_THAT(cache.find(kRoot, same, 9), ElementsAre(0, 5));
  const Tokens part = {1, 2, 3};
  EXPECT_THAT(cache.find(kRoot, part, 9), ElementsAre(0));
  const Tokens other = {1, 2, 9, 4};
  EXPECT_THAT(cache.find(kRoot, other, 9), ElementsAre(0));
  const Tokens wrong_place = {3, 4, 1, 2};
  EXPECT_THAT(cache.find(kRoot, wrong_place, 9), IsEmpty());
}

TEST(PrefixCache, FindsNoMoreThanTheLimit) {
  PrefixCache cache(8, 2);
  const ChainPoint one = cache.insert(kRoot, Tokens{1, 2}, 0);
  cache.insert(one, Tokens{3, 4}, 1);
  const Tokens tokens = {1, 2, 3, 4};
  ChainPoint end;
  EXPECT_THAT(cache.find(kRoot, tokens, 1, &end), ElementsAre(0));
  EXPECT_EQ(end, one);
  EXPECT_THAT(cache.find(kRoot, tokens, 0, &end), IsEmpty());
  EXPECT_EQ(end, kRoot);
}

TEST(PrefixCache, EqualHashesGiveNoFalseHit) {
  PrefixCache cache(8, 2, constant_hash);
  const ChainPoint a = cache.insert(kRoot, Tokens{1, 2}, 0);
  const ChainPoint b = cache.insert(kRoot, Tokens{3, 4}, 1);
  cache.insert(b, Tokens{5, 6}, 2);
  const Tokens unknown = {9, 9};
  EXPECT_THAT(cache.find(kRoot, unknown, 9), IsEmpty());
  // Block 2 holds {5, 6} behind {3, 4}; behind {1, 2} its keys and values would be others.
  const Tokens elsewhere = {1, 2, 5, 6};
  EXPECT_THAT(cache.find(kRoot, elsewhere, 9), ElementsAre(0));
  cache.insert(a, Tokens{5, 6}, 3);
  EXPECT_THAT(cache.find(kRoot, elsewhere, 9), ElementsAre(0, 3));
  const Tokens first = {3, 4, 5, 6};
  EXPECT_THAT(cache.find(kRoot, first, 9), ElementsAre(1, 2));
}

TEST(PrefixCache, RootsDifferByVersionSaltAndAdapterEvenWithEqualText) {
  std::set<std::pair<uint64_t, uint64_t>> roots;
  const auto add = [&](const ChainPoint& root) { roots.insert({root.high, root.low}); };
  add(prefix_root(version(1)));
  add(prefix_root(version(2)));
  add(prefix_root({7, 2, 1, 99}));
  add(prefix_root({8, 1, 1, 99}));
  add(prefix_root({7, 1, 1, 98}));
  add(prefix_root(version(1), "x"));
  add(prefix_root(version(1), "", "x"));
  add(prefix_root(version(1), "x", "x"));
  add(prefix_root(version(1), "xadapter:1:x"));
  EXPECT_EQ(roots.size(), 9U);
  EXPECT_EQ(prefix_root(version(1), "x"), prefix_root(version(1), "x"));
}

TEST(PrefixCache, BlockThatIsThereAlreadyIsNotCachedAgain) {
  PrefixCache cache(8, 2);
  const ChainPoint one = cache.insert(kRoot, Tokens{1, 2}, 0);
  EXPECT_EQ(cache.insert(kRoot, Tokens{1, 2}, 1), one);
  EXPECT_FALSE(cache.contains(1));
  EXPECT_EQ(cache.size(), 1);
}

TEST(PrefixCache, ErasedBlockIsGoneAndWhatStoodBehindItIsOutOfReach) {
  PrefixCache cache(8, 2);
  const ChainPoint one = cache.insert(kRoot, Tokens{1, 2}, 0);
  cache.insert(one, Tokens{3, 4}, 1);
  cache.erase(0);
  cache.erase(0);
  EXPECT_FALSE(cache.contains(0));
  const Tokens tokens = {1, 2, 3, 4};
  EXPECT_THAT(cache.find(kRoot, tokens, 9), IsEmpty());
  // The same tokens again are a new place.
  cache.insert(kRoot, Tokens{1, 2}, 0);
  EXPECT_THAT(cache.find(kRoot, tokens, 9), ElementsAre(0));
  cache.clear();
  EXPECT_EQ(cache.size(), 0);
  EXPECT_THAT(cache.find(kRoot, tokens, 9), IsEmpty());
}

}  // namespace
}  // namespace sluice
