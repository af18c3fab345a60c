#include "dataflow/policy/sampler.h"

#include "dataflow/policy/item_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(Sampler, FifoPutsAReadItemBehindTheOthers) {
  FifoSampler s(3);
  for (int32_t i = 0; i < 3; ++i) s.add(i);
  EXPECT_EQ(s.pick(), 0);
  s.kept(0);
  EXPECT_EQ(s.pick(), 1);
  s.remove(1);
  EXPECT_EQ(s.pick(), 2);
  s.remove(2);
  EXPECT_EQ(s.pick(), 0);
}

TEST(Sampler, NewestStartsAtTheNewestAgainWithEachBatch) {
  NewestSampler s(3);
  for (int32_t i = 0; i < 3; ++i) s.add(i);
  for (int batch = 0; batch < 2; ++batch) {
    s.begin();
    EXPECT_EQ(s.pick(), 2);
    EXPECT_EQ(s.pick(), 1);
  }
}

TEST(Sampler, UniformPicksOnlyHeldItemsAboutEquallyOften) {
  UniformSampler s(8, 3);
  for (int32_t i = 0; i < 8; ++i) s.add(i);
  for (int32_t i = 0; i < 8; i += 2) s.remove(i);
  std::vector<int> counts(8, 0);
  for (int i = 0; i < 4000; ++i) ++counts[static_cast<size_t>(s.pick())];
  for (size_t i = 0; i < 8; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(counts[i], 0);
    } else {
      EXPECT_NEAR(counts[i], 1000, 130);  // 4.7 sigma; the seed is fixed
    }
  }
}

TEST(ItemTable, ItemLeavesAfterItsLastRead) {
  ItemTable table(2, 2, make_sampler(Sampling::Fifo, 2, 0));
  table.insert();
  EXPECT_EQ(table.readable(), 2);
  const auto first = table.read();
  EXPECT_TRUE(first.first);
  EXPECT_FALSE(first.left);
  const auto second = table.read();
  EXPECT_FALSE(second.first);
  EXPECT_TRUE(second.left);
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.readable(), 0);
}

TEST(ItemTable, RemovedItemTakesItsReadsWithIt) {
  ItemTable table(3, 3, make_sampler(Sampling::Uniform, 3, 0));
  const int32_t a = table.insert();
  const int32_t b = table.insert();
  table.insert();
  EXPECT_TRUE(table.full());
  table.remove(a);
  EXPECT_EQ(table.readable(), 6);
  EXPECT_EQ(table.oldest(), b);
  EXPECT_FALSE(table.full());
}

}  // namespace
}  // namespace sluice
