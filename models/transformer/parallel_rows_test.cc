#include "models/transformer/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace sluice {
namespace {

TEST(ParallelRows, EveryRowIsVisitedOnce) {
  for (const int64_t rows : {0, 1, 7, 1000, 65537}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(rows));
    parallel_rows(rows, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    for (const auto& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST(ParallelRows, RunsAloneWhereAskedTo) {
  int calls = 0;
  {
    const SerialRows serial;
    parallel_rows(100000, 1, [&](int64_t begin, int64_t end) {
      ++calls;
      EXPECT_EQ(end - begin, 100000);
    });
  }
  EXPECT_EQ(calls, 1);
}

TEST(ParallelRows, RunsOnSeveralThreads) {
  if (at::get_num_threads() < 2) GTEST_SKIP() << "one thread";
  std::mutex mutex;
  std::condition_variable met;
  int inside = 0;
  bool all_met = true;
  // Each range waits until another has begun too: one after the other, the first would never meet
  // it.
  parallel_rows(2 * at::get_num_threads(), 1, [&](int64_t, int64_t) {
    std::unique_lock lock(mutex);
    ++inside;
    met.notify_all();
    all_met &= met.wait_for(lock, std::chrono::seconds(20), [&] { return inside >= 2; });
  });
  EXPECT_TRUE(all_met);
}

}  // namespace
}  // namespace sluice
