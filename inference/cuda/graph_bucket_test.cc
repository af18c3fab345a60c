#include "inference/cuda/graph_bucket.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(GraphBucket, IsTheSmallestThatFits) {
  EXPECT_EQ(graph_bucket(1, 1, 256), (GraphBucket{1, 1}));
  EXPECT_EQ(graph_bucket(2, 2, 256), (GraphBucket{2, 2}));
  EXPECT_EQ(graph_bucket(3, 3, 256), (GraphBucket{4, 4}));
  EXPECT_EQ(graph_bucket(5, 5, 256), (GraphBucket{8, 8}));
  EXPECT_EQ(graph_bucket(8, 16, 256), (GraphBucket{8, 16}));
  EXPECT_EQ(graph_bucket(9, 17, 256), (GraphBucket{16, 32}));
  EXPECT_EQ(graph_bucket(249, 256, 256), (GraphBucket{256, 256}));
}

TEST(GraphBucket, IsNoneWhenNothingFits) {
  EXPECT_FALSE(graph_bucket(257, 1, 256));
  EXPECT_FALSE(graph_bucket(9, 1, 12));
  EXPECT_FALSE(graph_bucket(0, 1, 256));
  EXPECT_FALSE(graph_bucket(1, 0, 256));
}

TEST(GraphBucket, NeverHoldsLessThanTheStepAndIsItsOwnBucket) {
  for (int64_t rows = 1; rows <= 256; ++rows) {
    const auto bucket = graph_bucket(rows, rows, 256);
    ASSERT_TRUE(bucket);
    EXPECT_GE(bucket->rows, rows);
    EXPECT_LT(bucket->rows, rows + 8);
    EXPECT_GE(bucket->width, rows);
    EXPECT_EQ(graph_bucket(bucket->rows, bucket->width, 256), bucket);
  }
}

}  // namespace
}  // namespace sluice
