#include "dataflow/policy/batcher.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Batcher, IsDueByWeightOrByTheAgeOfTheOldest) {
  struct Row {
    int64_t waiting, weight;
    TimeNs oldest, now;
    bool due;
    TimeNs due_at;
  };
  const Row rows[] = {
      {0, 0, kForever, 100, false, kForever},
      {1, 7, 100, 149, false, 150},
      {1, 7, 100, 150, true, 150},
      {1, 8, 100, 100, true, 100},
      {3, 20, 100, 101, true, 100},
  };
  const Batcher batcher(8, 50);
  for (const Row& row : rows) {
    EXPECT_EQ(batcher.due(row.waiting, row.weight, row.oldest, row.now), row.due) << row.weight;
    EXPECT_EQ(batcher.due_at(row.waiting, row.weight, row.oldest), row.due_at) << row.weight;
  }
}

TEST(Batcher, CutsAtTheLimitButServesTheHeavyAlone) {
  const Batcher batcher(8, 0);
  EXPECT_TRUE(batcher.fits(0, 20));
  EXPECT_TRUE(batcher.fits(5, 3));
  EXPECT_FALSE(batcher.fits(5, 4));
}

}  // namespace
}  // namespace sluice
