#include "dataflow/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

struct Counted {
  Mutex mutex;
  CondVar changed;
  int64_t count SLUICE_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, LetsOneThreadInAtATime) {
  Counted counted;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        const MutexLock lock(counted.mutex);
        ++counted.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(counted.mutex);
  EXPECT_EQ(counted.count, 40'000);
}

TEST(MutexLock, GivesTheMutexBackOnceWhenUnlockedEarly) {
  Counted counted;
  MutexLock first(counted.mutex);
  first.unlock();
  const MutexLock second(counted.mutex);  // hangs if the first still held it
  ++counted.count;
  EXPECT_EQ(counted.count, 1);
}

TEST(CondVar, WaitsUntilTheConditionHolds) {
  Counted counted;
  std::thread other([&] {
    for (int n = 0; n < 3; ++n) {
      {
        const MutexLock lock(counted.mutex);
        ++counted.count;
      }
      counted.changed.notify_all();
    }
  });
  {
    const MutexLock lock(counted.mutex);
    counted.changed.wait(counted.mutex,
                         [&]() SLUICE_REQUIRES(counted.mutex) { return counted.count == 3; });
    EXPECT_EQ(counted.count, 3);
  }
  other.join();
}

}  // namespace
}  // namespace sluice
