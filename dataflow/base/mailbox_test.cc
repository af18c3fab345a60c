#include "dataflow/base/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace sluice {
namespace {

TEST(Mailbox, KeepsTheOrderAndRefusesWhenFull) {
  Waker waker;
  Mailbox<int> box(2, waker);
  EXPECT_TRUE(box.try_put(1));
  EXPECT_TRUE(box.try_put(2));
  EXPECT_FALSE(box.try_put(3));
  int got = 0;
  ASSERT_TRUE(box.try_take(got));
  EXPECT_EQ(got, 1);
  EXPECT_TRUE(box.try_put(4)) << "there is room again";
  EXPECT_EQ(box.take_all(), (std::vector<int>{2, 4}));
  EXPECT_FALSE(box.try_take(got));
}

TEST(Mailbox, WhatIsRefusedStaysWithTheSender) {
  Waker waker;
  Mailbox<std::unique_ptr<int>> box(0, waker);
  auto item = std::make_unique<int>(7);
  EXPECT_FALSE(box.try_put(item));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 7);
}

TEST(Mailbox, ClosedTakesNothingInButGivesOutWhatItHolds) {
  Waker waker;
  Mailbox<int> box(4, waker);
  EXPECT_TRUE(box.try_put(1));
  box.close();
  EXPECT_TRUE(box.closed());
  EXPECT_FALSE(box.try_put(2));
  int got = 0;
  EXPECT_TRUE(box.try_take(got));
  EXPECT_EQ(got, 1);
}

TEST(Mailbox, PutAndCloseWakeTheReader) {
  Waker waker;
  Mailbox<int> box(4, waker);
  auto seen = waker.epoch();
  EXPECT_TRUE(box.try_put(1));
  EXPECT_NE(waker.epoch(), seen);
  seen = waker.epoch();
  box.close();
  EXPECT_NE(waker.epoch(), seen);
}

TEST(Mailbox, ManyWritersLoseNothing) {
  constexpr int kWriters = 4, kEach = 2000;
  Waker waker;
  Mailbox<int> box(16, waker);
  std::vector<std::jthread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&box, w] {
      for (int i = 0; i < kEach; ++i) {
        while (!box.try_put(w * kEach + i)) std::this_thread::yield();
      }
    });
  }
  std::vector<int> last(kWriters, -1);
  for (int got = 0; got < kWriters * kEach;) {
    const auto seen = waker.epoch();
    const auto items = box.take_all();
    for (const int item : items) {
      int& before = last[static_cast<size_t>(item / kEach)];
      ASSERT_EQ(item % kEach, before + 1) << "order per writer";
      before = item % kEach;
    }
    got += static_cast<int>(items.size());
    if (items.empty()) waker.wait(seen, RealClock::instance().now() + kSecond);
  }
}

}  // namespace
}  // namespace sluice
