#include "inference/kv/kv_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Tokens = std::vector<int64_t>;

const ChainPoint kRoot = prefix_root({1, 1, 1, 1});

Tokens count_from(int64_t first, int64_t n) {
  Tokens tokens(static_cast<size_t>(n));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// A sequence whose tokens are all computed.
struct Computed {
  Computed(KvSpace& space, Tokens all, const ChainPoint& root = kRoot) : tokens(std::move(all)) {
    cached = space.attach(table, root, tokens);
    const auto n = std::ssize(tokens);
    SLUICE_CHECK(space.reserve(table, cached, n));
    space.commit();
    space.cache_full(table, tokens, n);
  }
  Tokens tokens;
  BlockTable table;
  int64_t cached = 0;
};

uint64_t constant_hash(const ChainPoint&, std::span<const int64_t>) { return 0; }

TEST(KvSpace, SecondEqualPromptFindsAllButItsLastBlock) {
  struct Case {
    int64_t length, cached;
  };
  for (const auto& [length, cached] :
       {Case{1, 0}, Case{15, 0}, Case{16, 0}, Case{17, 16}, Case{32, 16}, Case{33, 32}}) {
    KvSpace space(16, 16);
    Computed first(space, count_from(0, length));
    EXPECT_EQ(first.cached, 0);
    const Computed second(space, count_from(0, length));
    EXPECT_EQ(second.cached, cached) << length;
    EXPECT_TRUE(space.check({&first.table, &second.table}).ok());
  }
}

TEST(KvSpace, PrefixIsFoundAfterItsSequenceIsGone) {
  KvSpace space(8, 4);
  Computed first(space, count_from(0, 9));
  const std::vector<BlockId> blocks = first.table.blocks;
  space.release(first.table);
  EXPECT_EQ(space.free_blocks(), 8);
  const Computed second(space, count_from(0, 9));
  EXPECT_EQ(second.cached, 8);
  EXPECT_EQ(second.table.blocks[0], blocks[0]);
  EXPECT_EQ(second.table.blocks[1], blocks[1]);
}

TEST(KvSpace, EqualHashesGiveNoFalseHit) {
  KvSpace space(16, 4, constant_hash);
  const Computed first(space, count_from(0, 9));
  const Computed other(space, count_from(100, 9));
  EXPECT_EQ(other.cached, 0);
  const Computed again(space, count_from(0, 9));
  EXPECT_EQ(again.cached, 8);
}

TEST(KvSpace, AnotherVersionFindsNothing) {
  KvSpace space(16, 4);
  const Computed first(space, count_from(0, 9));
  const Computed second(space, count_from(0, 9), prefix_root({1, 1, 2, 1}));
  EXPECT_EQ(second.cached, 0);
}

TEST(KvSpace, OldPrefixesGiveWayTailFirst) {
  KvSpace space(4, 4);
  Computed first(space, count_from(0, 16));
  space.release(first.table);
  Computed second(space, count_from(100, 4));
  // One block was needed: the tail of the old prefix went, its beginning is still found.
  space.release(second.table);
  const Computed again(space, count_from(0, 16));
  EXPECT_EQ(again.cached, 12);
}

TEST(KvSpace, UncachedBlocksAreReusedBeforeCachedOnes) {
  KvSpace space(4, 4);
  Computed first(space, count_from(0, 6));
  space.release(first.table);
  Computed other(space, count_from(100, 12));
  EXPECT_EQ(space.cached_blocks(), 4);
  space.release(other.table);
  const Computed again(space, count_from(0, 6));
  EXPECT_EQ(again.cached, 4);
}

TEST(KvSpace, ReserveIsAllOrNothing) {
  KvSpace space(3, 4);
  BlockTable table;
  EXPECT_FALSE(space.reserve(table, 0, 13));
  EXPECT_THAT(table.blocks, IsEmpty());
  EXPECT_EQ(space.free_blocks(), 3);
  EXPECT_TRUE(space.reserve(table, 0, 12));
  EXPECT_THAT(table.blocks, SizeIs(3));
}

TEST(KvSpace, ForksShareFullBlocksAndCopyTheirPartialOneBeforeWriting) {
  KvSpace space(16, 16);
  Computed parent(space, count_from(0, 33));
  std::vector<BlockTable> tables = {parent.table, space.fork(parent.table),
                                    space.fork(parent.table), space.fork(parent.table)};
  EXPECT_EQ(space.free_blocks(), 13);
  for (BlockTable& table : tables) ASSERT_TRUE(space.reserve(table, 33, 34));
  EXPECT_THAT(space.copies(), SizeIs(4));
  const BlockId partial = parent.table.blocks[2];
  for (const BlockCopy& copy : space.copies()) EXPECT_EQ(copy.from, partial);
  space.commit();
  // Two shared full blocks and four partial ones.
  EXPECT_EQ(space.free_blocks(), 16 - 2 - 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tables[i].blocks[0], parent.table.blocks[0]);
    EXPECT_EQ(tables[i].blocks[1], parent.table.blocks[1]);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(tables[i].blocks[2], tables[j].blocks[2]);
  }
  EXPECT_TRUE(space.check({&tables[0], &tables[1], &tables[2], &tables[3]}).ok());
  for (BlockTable& table : tables) space.release(table);
  EXPECT_EQ(space.free_blocks(), 16);
  EXPECT_TRUE(space.check({}).ok());
}

TEST(KvSpace, LastHolderWritesWithoutACopy) {
  KvSpace space(8, 4);
  Computed parent(space, count_from(0, 6));
  BlockTable child = space.fork(parent.table);
  space.release(child);
  EXPECT_EQ(space.needed(parent.table, 6, 7), 0);
  ASSERT_TRUE(space.reserve(parent.table, 6, 7));
  EXPECT_THAT(space.copies(), IsEmpty());
}

TEST(KvSpace, ForkAtABlockBoundaryCopiesNothing) {
  KvSpace space(8, 4);
  Computed parent(space, count_from(0, 8));
  BlockTable child = space.fork(parent.table);
  ASSERT_TRUE(space.reserve(parent.table, 8, 9));
  ASSERT_TRUE(space.reserve(child, 8, 9));
  EXPECT_THAT(space.copies(), IsEmpty());
  EXPECT_NE(parent.table.blocks[2], child.blocks[2]);
}

TEST(KvSpace, RollbackRestoresTablesCopiesAndFreeBlocks) {
  KvSpace space(8, 4);
  Computed parent(space, count_from(0, 6));
  BlockTable child = space.fork(parent.table);
  const std::vector<BlockId> blocks = parent.table.blocks;
  const int32_t free = space.free_blocks();
  ASSERT_TRUE(space.reserve(parent.table, 6, 14));
  ASSERT_TRUE(space.reserve(child, 6, 7));
  EXPECT_TRUE(space.check({&parent.table, &child}).ok());
  space.rollback();
  EXPECT_EQ(parent.table.blocks, blocks);
  EXPECT_EQ(child.blocks, blocks);
  EXPECT_EQ(space.free_blocks(), free);
  EXPECT_THAT(space.copies(), IsEmpty());
  EXPECT_TRUE(space.check({&parent.table, &child}).ok());
}

TEST(KvSpace, ReleasedAsFailedIsNotFoundAgain) {
  KvSpace space(8, 4);
  Computed first(space, count_from(0, 9));
  space.release(first.table, false);
  const Computed again(space, count_from(0, 9));
  EXPECT_EQ(again.cached, 0);
}

TEST(KvSpace, CheckSeesALeak) {
  KvSpace space(8, 4);
  const Computed first(space, count_from(0, 9));
  EXPECT_FALSE(space.check({}).ok());
  EXPECT_FALSE(space.check({&first.table, &first.table}).ok());
}

TEST(KvSpace, TruncatedTablesGiveTheirTailBack) {
  KvSpace space(8, 4);
  Computed one(space, count_from(0, 6));
  ASSERT_TRUE(space.reserve(one.table, 6, 7));
  ASSERT_TRUE(space.reserve(one.table, 7, 14));  // guesses
  EXPECT_THAT(one.table.blocks, SizeIs(4));
  space.commit();
  space.truncate(one.table, 9);
  EXPECT_THAT(one.table.blocks, SizeIs(3));
  EXPECT_EQ(space.free_blocks(), 5);
  space.truncate(one.table, 8);
  EXPECT_THAT(one.table.blocks, SizeIs(2));
  EXPECT_TRUE(space.check({&one.table}).ok());
  ASSERT_TRUE(space.reserve(one.table, 8, 9));
  ASSERT_TRUE(space.reserve(one.table, 9, 20));
  space.rollback();  // both
  EXPECT_THAT(one.table.blocks, SizeIs(2));
  EXPECT_TRUE(space.check({&one.table}).ok());
}

}  // namespace
}  // namespace sluice
