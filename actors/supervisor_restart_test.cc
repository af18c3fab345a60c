#include "tests/support/supervisor_fixture.h"

namespace sluice {
namespace {

using SupervisorRestart = SupervisorFixture;

TEST_F(SupervisorRestart, WaitsTwiceAsLongAfterEveryFailure) {
  start({{.name = "a"}});
  int attempt = 0;
  for (const TimeNs delay : {100 * kMillisecond, 200 * kMillisecond, 400 * kMillisecond}) {
    fail("a");
    EXPECT_EQ(status(0).state, LoopState::Restarting);
    advance(delay - 1);
    EXPECT_EQ(told(), Lines{}) << "too early after failure " << attempt;
    advance(1);
    EXPECT_EQ(told(), Lines{fmt::format("a start {}", ++attempt)});
    EXPECT_EQ(status(0).state, LoopState::Running);
  }
  EXPECT_EQ(count("sluice_worker_restarts_total", "a"), 3);
  EXPECT_FALSE(board_->outcome());
}

TEST_F(SupervisorRestart, SpentBudgetEndsTheRun) {
  start({{.name = "a"}, {.name = "b"}});
  for (int i = 0; i < 3; ++i) {
    fail("a");
    advance(kSecond);
  }
  fail("a", "the last straw");
  ASSERT_TRUE(board_->outcome());
  EXPECT_EQ(board_->outcome()->message(),
            "worker a failed 4 times within 60 s; last: the last straw");
  EXPECT_EQ(status(0).state, LoopState::Failed);
  EXPECT_EQ(status(0).last_error, "the last straw");
  EXPECT_EQ(status(1).state, LoopState::Running) << "until somebody calls for the shutdown";
  told();
  advance(3600 * kSecond);
  EXPECT_EQ(told(), Lines{});
}

TEST_F(SupervisorRestart, FailuresOlderThanTheWindowAreForgiven) {
  start({{.name = "a", .restart = {.max_restarts = 1, .within = 10 * kSecond}}});
  for (int i = 0; i < 5; ++i) {
    fail("a");
    told();
    advance(100 * kMillisecond);
    EXPECT_EQ(told(), Lines{fmt::format("a start {}", i + 1)}) << "the first delay every time";
    advance(10 * kSecond);
  }
  EXPECT_FALSE(board_->outcome());
  fail("a");
  advance(9 * kSecond);
  fail("a");
  EXPECT_TRUE(board_->outcome());
}

TEST_F(SupervisorRestart, OthersHearNothingOfIt) {
  start({{.name = "a"}, {.name = "b"}});
  loops_.at("a").step();
  loops_.at("b").step();
  fail("a");
  advance(100 * kMillisecond);
  loops_.at("a").step();
  loops_.at("b").step();
  EXPECT_EQ(told(), Lines{"a start 1"});
  EXPECT_EQ(status(0).restarts, 1);
  EXPECT_EQ(status(0).steps, 2) << "over all attempts";
  EXPECT_EQ(status(1).restarts, 0);
  EXPECT_EQ(status(1).steps, 2);
}

TEST_F(SupervisorRestart, KeepsTheWaker) {
  start({{.name = "a"}});
  fail("a");
  advance(100 * kMillisecond);
  ASSERT_EQ(loops_.wakers["a"].size(), 2U);
  EXPECT_EQ(loops_.wakers["a"][0], loops_.wakers["a"][1]);
}

TEST_F(SupervisorRestart, HungStepIsReplacedOnceTheDeadlineIsOver) {
  start({{.name = "a"}, {.name = "busy"}, {.name = "waiting"}}, kSecond);
  loops_.at("a").step();
  loops_.at("a").stepping(true);
  loops_.at("busy").stepping(true);
  for (int i = 0; i < 4; ++i) {
    advance(249 * kMillisecond);
    loops_.at("busy").step();
  }
  EXPECT_EQ(told(), Lines{});
  EXPECT_EQ(status(0).abandoned, 0);
  loops_.at("busy").step();
  loops_.at("a").at("environment 'x', slot 3, step 40");
  advance(254 * kMillisecond);
  EXPECT_EQ(told(), Lines{"a abandon"}) << "and nobody else";
  EXPECT_EQ(status(0).last_error,
            "a step hangs for more than 1 s (step 0, environment 'x', slot 3, step 40)");
  EXPECT_EQ(status(0).state, LoopState::Restarting);
  EXPECT_EQ(board_->stuck(), 1);
  EXPECT_EQ(count("sluice_worker_abandoned_total", "a"), 1);
  loops_.at("busy").stepping(false);
  advance(100 * kMillisecond);
  EXPECT_EQ(told(), Lines{"a start 1"});
  EXPECT_EQ(status(0).abandoned, 1);
  ASSERT_EQ(loops_.wakers["a"].size(), 2U);
  EXPECT_NE(loops_.wakers["a"][0], loops_.wakers["a"][1]) << "the hung thread keeps its own";
}

TEST_F(SupervisorRestart, HungMakingIsReplacedAfterTenDeadlines) {
  start({{.name = "b"}}, kSecond);
  fail("b");
  loops_.manners["b"].starts = false;
  advance(100 * kMillisecond);
  told();
  loops_.at("b").stepping(true);
  advance(9 * kSecond);
  EXPECT_EQ(told(), Lines{});
  advance(2 * kSecond);
  EXPECT_EQ(told(), (Lines{"b abandon", "b start 2"}));
  EXPECT_EQ(status(0).last_error, "its making hangs for more than 10 s");
}

TEST_F(SupervisorRestart, AWaitingLoopNeverHangs) {
  start({{.name = "a"}}, kSecond);
  advance(3600 * kSecond);
  EXPECT_EQ(told(), Lines{});
}

TEST_F(SupervisorRestart, ADefectInTheActorItselfIsAFailureToo) {
  loops_.manners["a"].throws_on_pause = true;
  start({{.name = "a"}});
  tell(msg::pause_atom_v);
  EXPECT_EQ(told(), (Lines{"a pause", "a abandon"}));
  EXPECT_EQ(status(0).state, LoopState::Restarting);
  EXPECT_EQ(status(0).abandoned, 1);
  EXPECT_NE(status(0).last_error, "");
}

TEST_F(SupervisorRestart, APausedRunRestartsPaused) {
  start({{.name = "a"}});
  tell(msg::pause_atom_v);
  fail("a");
  told();
  advance(100 * kMillisecond);
  EXPECT_EQ(told(), (Lines{"a pause", "a start 1"}));
  tell(msg::resume_atom_v);
  EXPECT_EQ(told(), Lines{"a resume"});
}

TEST_F(SupervisorRestart, NothingRestartsDuringAShutdown) {
  loops_.manners["b"].drains = false;
  start({{.name = "a"}, {.name = "b"}});
  fail("a");
  const auto down = ask(msg::drain_atom_v, 10 * kSecond);
  advance(kSecond);
  EXPECT_EQ(told(), Lines{"b drain"});
  EXPECT_EQ(status(0).state, LoopState::Failed);
  fail("b");
  EXPECT_EQ(down->value_or("none"), "");
  advance(kSecond);
  EXPECT_EQ(told(), Lines{});
}

}  // namespace
}  // namespace sluice
