#include "dataflow/base/clock.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(VirtualClock, MovesOnlyWhenTold) {
  VirtualClock clock;
  EXPECT_EQ(clock.now(), 0);
  EXPECT_EQ(clock.now(), 0);
  clock.advance(3 * kSecond);
  clock.advance(5);
  EXPECT_EQ(clock.now(), 3'000'000'005);
}

TEST(RealClock, NeverGoesBack) {
  const Clock& clock = RealClock::instance();
  TimeNs last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const TimeNs now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(After, AddsWithoutOverflow) {
  EXPECT_EQ(after(5, 10), 15);
  EXPECT_EQ(after(5, kForever), kForever);
  EXPECT_EQ(after(kForever, 1), kForever);
  EXPECT_EQ(after(10, kForever - 10), kForever);
  EXPECT_EQ(after(10, kForever - 11), kForever - 1);
}

}  // namespace
}  // namespace sluice
