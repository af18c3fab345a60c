#include "actors/shutdown_sequence.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ShutdownSequence, GoesFromTheLowestStageUpAndSkipsGaps) {
  ShutdownSequence sequence({2, 0, 7, 0, 2}, 0, kSecond);
  std::vector<int> order;
  for (; sequence.stage(); sequence.next()) order.push_back(*sequence.stage());
  EXPECT_EQ(order, (std::vector<int>{0, 2, 7}));
  sequence.next();
  EXPECT_FALSE(sequence.stage());
}

TEST(ShutdownSequence, StagesShareWhatIsLeft) {
  ShutdownSequence sequence({0, 1, 2}, 100 * kSecond, 10 * kSecond);
  EXPECT_EQ(sequence.share(100 * kSecond), 3 * kSecond) << "one second is kept for stopping";
  sequence.next();
  EXPECT_EQ(sequence.share(101 * kSecond), 4 * kSecond) << "what the first did not need";
  sequence.next();
  EXPECT_EQ(sequence.share(109 * kSecond), 0);
  EXPECT_EQ(sequence.share(120 * kSecond), 0);
  sequence.next();
  EXPECT_EQ(sequence.share(101 * kSecond), 0) << "nobody is left";
}

TEST(ShutdownSequence, AShortGraceKeepsAQuarter) {
  EXPECT_EQ(ShutdownSequence({0}, 0, 400).share(0), 300);
  EXPECT_EQ(ShutdownSequence({0}, 0, 0).share(0), 0);
}

TEST(ShutdownSequence, AnEndlessGraceDoesNotOverflow) {
  EXPECT_GT(ShutdownSequence({0}, kSecond, kForever).share(kSecond), 3600 * kSecond);
}

TEST(ShutdownSequence, AnEarlierTurnsTimerMeansNothing) {
  ShutdownSequence sequence({0, 1}, 0, kSecond);
  const int32_t first = sequence.begin_turn();
  EXPECT_TRUE(sequence.is_turn(first));
  sequence.begin_turn();
  EXPECT_FALSE(sequence.is_turn(first));
}

TEST(ShutdownSequence, NamesWhoDidNotManageOnceEach) {
  ShutdownSequence sequence({0}, 0, 5 * kSecond);
  EXPECT_EQ(sequence.failure(), "");
  sequence.cut_short("a");
  sequence.cut_short("b");
  sequence.cut_short("c");
  EXPECT_EQ(sequence.failure(), "stopped before drained: a, b, c");
  sequence.gave_up("b");
  EXPECT_EQ(sequence.failure(),
            "not ended within 5 s and abandoned: b; stopped before drained: a, c");
}

}  // namespace
}  // namespace sluice
