#include "dataflow/policy/rate_limiter.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RateLimiter, ReverbsFourNumbersDecide) {
  struct Row {
    double ratio, tolerance;
    int64_t min_size, inserts, samples;
    bool may_insert, may_sample;
  };
  const Row rows[] = {
      {0, 0, 1, 0, 0, true, false},   {0, 0, 1, 1, 0, true, true},  {0, 0, 5, 4, 0, true, false},
      {1, 1, 1, 1, 0, true, true},    {1, 1, 1, 2, 0, false, true},  // 3 - 0 > 1 + 1
      {1, 1, 1, 1, 1, true, false},                                  // 1 - 2 < 1 - 1
      {4, 8, 10, 12, 0, false, true},                                // 13 * 4 > 40 + 8
      {4, 8, 10, 11, 0, true, true},                                 // 12 * 4 = 48
      {4, 8, 10, 10, 8, true, false},                                // 40 - 9 < 40 - 8
      {0.5, 1, 2, 3, 0, true, true},                                 // 4 * 0.5 = 2 = 1 + 1
      {0.5, 1, 2, 4, 0, false, true},                                // 2.5 > 2
  };
  for (const Row& row : rows) {
    RateLimiter limiter(row.ratio, row.tolerance, row.min_size);
    for (int64_t i = 0; i < row.inserts; ++i) limiter.inserted();
    limiter.sampled(row.samples);
    SCOPED_TRACE(testing::Message() << row.ratio << " " << row.inserts << " " << row.samples);
    EXPECT_EQ(limiter.may_insert(row.inserts), row.may_insert);
    EXPECT_EQ(limiter.may_sample(1, row.inserts), row.may_sample);
  }
}

TEST(RateLimiter, KnowsBatchesThatWouldWaitForEver) {
  const RateLimiter limiter(1, 4, 1);
  EXPECT_FALSE(limiter.never_allows(7));
  EXPECT_TRUE(limiter.never_allows(8));
}

TEST(RateLimiter, ForgottenInsertsOweNoReads) {
  RateLimiter limiter(1, 1, 1);
  limiter.inserted();
  limiter.inserted();
  EXPECT_FALSE(limiter.may_insert(2));
  limiter.forgotten();
  EXPECT_TRUE(limiter.may_insert(1));
}

}  // namespace
}  // namespace sluice
