#include "dataflow/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace sluice {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceOnItsFixedThread) {
  for (const int threads : {1, 2, 3}) {
    // With and without spinning: helpers that wait hot, and helpers that park at once.
    for (const int spin : {0, 2000}) {
      ThreadPool pool(threads, spin);
      EXPECT_EQ(pool.threads(), threads);
      for (int round = 0; round < 200; ++round) {
        const int64_t tasks = round % 7;
        std::vector<std::atomic<int>> runs(7);
        std::atomic<bool> misplaced{false};
        pool.run(tasks, [&](int64_t i, int thread) {
          runs[static_cast<size_t>(i)].fetch_add(1);
          if (tasks > 1 && thread != i % threads) misplaced = true;
        });
        for (int64_t i = 0; i < 7; ++i)
          ASSERT_EQ(runs[static_cast<size_t>(i)].load(), i < tasks ? 1 : 0);
        ASSERT_FALSE(misplaced.load());
      }
    }
  }
}

TEST(ThreadPool, ResultsAreVisibleWhenRunReturns) {
  ThreadPool pool(2, 0);
  std::vector<int64_t> squares(100);
  for (int64_t round = 1; round <= 50; ++round) {
    pool.run(100, [&](int64_t i, int) { squares[static_cast<size_t>(i)] = round * i; });
    EXPECT_EQ(std::accumulate(squares.begin(), squares.end(), int64_t{0}), round * 4950);
  }
}

}  // namespace
}  // namespace sluice
