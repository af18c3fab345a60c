#include "dataflow/base/waker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(Waker, AWakeBeforeTheWaitIsNotLost) {
  Waker waker;
  const auto seen = waker.epoch();
  waker.wake();
  EXPECT_TRUE(waker.wait(seen, kForever));
}

TEST(Waker, ReturnsFalseOnlyAfterTheDeadline) {
  for (const TimeNs spin : {TimeNs{0}, 20 * kMicrosecond}) {
    Waker waker;
    waker.max_spin(spin);
    const TimeNs deadline = RealClock::instance().now() + 2 * kMillisecond;
    EXPECT_FALSE(waker.wait(waker.epoch(), deadline));
    EXPECT_GE(RealClock::instance().now(), deadline);
  }
}

TEST(Waker, APassedDeadlineReturnsAtOnce) {
  Waker waker;
  EXPECT_FALSE(waker.wait(waker.epoch(), 0));
  const auto seen = waker.epoch();
  waker.wake();
  EXPECT_TRUE(waker.wait(seen, 0));
}

// Two threads hand one number to and fro. A single lost wake-up hangs the test.
void ping_pong(TimeNs spin, int rounds) {
  Waker wakers[2];
  wakers[0].max_spin(spin);
  wakers[1].max_spin(spin);
  std::atomic<int> turn{0};
  int shared = 0;  // handed over by the wake-ups alone
  const auto play = [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      for (;;) {
        const auto seen = wakers[me].epoch();
        if (turn.load(std::memory_order_acquire) == me) break;
        wakers[me].wait(seen, kForever);
      }
      ++shared;
      turn.store(1 - me, std::memory_order_release);
      wakers[1 - me].wake();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(shared, 2 * rounds);
}

TEST(Waker, LosesNoWakeUpWhenItParksAtOnce) { ping_pong(0, 5000); }
TEST(Waker, LosesNoWakeUpWhenItSpinsFirst) { ping_pong(20 * kMicrosecond, 5000); }
TEST(Waker, LosesNoWakeUpAtTheEdgeOfParking) { ping_pong(500, 5000); }

TEST(Waker, ManyWakersAndOneWaiter) {
  constexpr int kThreads = 3;
  constexpr int kEach = 2000;
  Waker waker;
  waker.max_spin(0);
  std::atomic<int> work{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        work.fetch_add(1, std::memory_order_release);
        waker.wake();
      }
    });
  }
  int done = 0;
  while (done < kThreads * kEach) {
    const auto seen = waker.epoch();
    const int found = work.exchange(0, std::memory_order_acquire);
    done += found;
    if (found == 0 && done < kThreads * kEach) waker.wait(seen, kForever);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kEach);
}

}  // namespace
}  // namespace sluice
