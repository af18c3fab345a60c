#include "inference/batch/trace_pruner.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Duplicate = TracePruner::Duplicate;
using Tokens = std::vector<int64_t>;

PruneOptions pruned_after(int64_t tokens, double similarity = 0.5) {
  PruneOptions options;
  options.after = tokens;
  options.similarity = similarity;
  return options;
}

/// All tokens of a sample at once.
std::vector<Duplicate> all_of(TracePruner& pruner, int32_t sample, const Tokens& tokens) {
  std::vector<Duplicate> found;
  for (const int64_t token : tokens) {
    const auto more = pruner.add(sample, token);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

TEST(NgramSimilarity, IsTheShareOfCommonGrams) {
  const Tokens a = {1, 2, 3, 4, 5};
  EXPECT_EQ(ngram_similarity(a, a, 3), 1);
  EXPECT_EQ(ngram_similarity(a, Tokens{9, 8, 7, 6}, 3), 0);
  // 123 234 345 and 234 345 456: two of four.
  EXPECT_EQ(ngram_similarity(a, Tokens{2, 3, 4, 5, 6}, 3), 0.5);
  EXPECT_EQ(ngram_similarity(Tokens{2, 3, 4, 5, 6}, a, 3), 0.5);
  // 11 three times and 11 once.
  EXPECT_EQ(ngram_similarity(Tokens{1, 1, 1, 1}, Tokens{1, 1}, 2), 1.0 / 3);
  EXPECT_EQ(ngram_similarity(Tokens{1}, Tokens{1}, 3), 1);
  EXPECT_EQ(ngram_similarity(Tokens{1}, Tokens{2}, 3), 0);
  EXPECT_EQ(ngram_similarity(Tokens{}, a, 3), 0);
}

TEST(TracePruner, ALaterSampleThatBeginsAsAnEarlierOneIsADuplicate) {
  const PruneOptions options = pruned_after(5);
  TracePruner pruner(options, 4);
  EXPECT_THAT(all_of(pruner, 0, {1, 2, 3, 4, 5}), IsEmpty());
  EXPECT_THAT(all_of(pruner, 1, {9, 8, 7, 6, 5}), IsEmpty());
  EXPECT_THAT(all_of(pruner, 2, {2, 3, 4, 5, 6}), ElementsAre(Duplicate{2, 0}));
  EXPECT_THAT(all_of(pruner, 3, {9, 8, 7, 6, 1}), ElementsAre(Duplicate{3, 1}));
}

TEST(TracePruner, WhatIsPrunedDoesNotDependOnWhoIsFaster) {
  const PruneOptions options = pruned_after(4);
  TracePruner pruner(options, 3);
  EXPECT_THAT(all_of(pruner, 2, {1, 2, 3, 4, 5, 6, 7}), IsEmpty()) << "the others may be first";
  EXPECT_THAT(all_of(pruner, 1, {1, 2, 3, 4}), IsEmpty());
  EXPECT_THAT(pruner.end(1), IsEmpty());
  EXPECT_THAT(all_of(pruner, 0, {1, 2, 3, 4}), ElementsAre(Duplicate{1, 0}, Duplicate{2, 0}));
}

TEST(TracePruner, ShortSamplesAreWholeAndStillCountAsSeen) {
  const PruneOptions options = pruned_after(5, 0.3);
  TracePruner pruner(options, 3);
  EXPECT_THAT(all_of(pruner, 0, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(pruner.end(0), IsEmpty());
  EXPECT_THAT(all_of(pruner, 1, {1, 2, 3}), IsEmpty());
  EXPECT_THAT(pruner.end(1), IsEmpty()) << "nothing is left to be saved";
  EXPECT_THAT(all_of(pruner, 2, {1, 2, 3, 4, 5}), ElementsAre(Duplicate{2, 0}));
}

TEST(TracePruner, TheMostAlikeClusterIsTakenAndAJudgeMayBeGiven) {
  PruneOptions options = pruned_after(1, 0.2);
  options.judge = [](std::span<const int64_t> a, std::span<const int64_t> b) {
    return 1 - static_cast<double>(std::abs(a[0] - b[0])) / 100;
  };
  options.similarity = 0.5;
  TracePruner pruner(options, 3);
  EXPECT_THAT(pruner.add(0, 10), IsEmpty());
  EXPECT_THAT(pruner.add(1, 90), IsEmpty());
  EXPECT_THAT(pruner.add(2, 55), ElementsAre(Duplicate{2, 1}));
}

TEST(TracePruner, OptionsAreChecked) {
  EXPECT_TRUE(check(pruned_after(0)).ok());
  EXPECT_FALSE(check(pruned_after(-1)).ok());
  EXPECT_FALSE(check(pruned_after(5, 0)).ok());
  EXPECT_FALSE(check(pruned_after(5, 1.01)).ok());
}

}  // namespace
}  // namespace sluice
