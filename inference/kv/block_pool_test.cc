#include "inference/kv/block_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(BlockPool, GivesEveryBlockOnceThenNone) {
  BlockPool pool(3);
  std::vector<bool> seen(3, false);
  for (int i = 0; i < 3; ++i) {
    const BlockId id = pool.take();
    ASSERT_GE(id, 0);
    EXPECT_FALSE(seen.at(static_cast<size_t>(id)));
    seen.at(static_cast<size_t>(id)) = true;
    EXPECT_EQ(pool.refs(id), 1);
  }
  EXPECT_EQ(pool.take(), kNoBlock);
  EXPECT_EQ(pool.free(), 0);
  EXPECT_TRUE(pool.check().ok());
}

TEST(BlockPool, BlockIsFreeOnlyWhenItsLastHolderLetsGo) {
  BlockPool pool(1);
  const BlockId id = pool.take();
  pool.ref(id);
  pool.unref(id);
  EXPECT_EQ(pool.free(), 0);
  pool.unref(id);
  EXPECT_EQ(pool.free(), 1);
}

TEST(BlockPool, UselessBlocksAreReusedBeforeThoseWorthKeepingAndThoseInOrder) {
  BlockPool pool(4);
  std::vector<BlockId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(pool.take());
  pool.unref(ids[0], BlockPool::Reuse::Last);
  pool.unref(ids[1], BlockPool::Reuse::Last);
  pool.unref(ids[2], BlockPool::Reuse::First);
  pool.unref(ids[3], BlockPool::Reuse::Last);
  for (const size_t next : {2U, 0U, 1U, 3U}) EXPECT_EQ(pool.take(), ids[next]);
}

TEST(BlockPool, FreeBlockCanBeHeldAgainFromTheMiddleOfTheList) {
  BlockPool pool(3);
  for (int i = 0; i < 3; ++i) static_cast<void>(pool.take());
  for (BlockId id = 0; id < 3; ++id) pool.unref(id, BlockPool::Reuse::Last);
  pool.ref(1);
  EXPECT_EQ(pool.refs(1), 1);
  EXPECT_EQ(pool.free(), 2);
  ASSERT_TRUE(pool.check().ok());
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.take(), kNoBlock);
}

TEST(BlockPool, FreeingTwiceIsABrokenInvariant) {
  BlockPool pool(2);
  const BlockId id = pool.take();
  pool.unref(id);
  EXPECT_THROW(pool.unref(id), CheckFailure);
  EXPECT_THROW(pool.ref(2), CheckFailure);
  EXPECT_THROW(pool.unref(-1), CheckFailure);
}

}  // namespace
}  // namespace sluice
