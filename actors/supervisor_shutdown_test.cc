#include "tests/support/supervisor_fixture.h"

namespace sluice {
namespace {

using SupervisorStart = SupervisorFixture;
using SupervisorShutdown = SupervisorFixture;

std::vector<LoopSpec> three_stages() {
  return {{.name = "policy", .stage = 1}, {.name = "rollout"}, {.name = "trainer", .stage = 2}};
}

TEST_F(SupervisorStart, LaunchesAStageOnceTheNextHasBeenMade) {
  for (const char* name : {"policy", "trainer", "trainer2"}) loops_.manners[name].starts = false;
  auto specs = three_stages();
  specs.push_back({.name = "trainer2", .stage = 2});
  spawn(std::move(specs));
  const auto started = ask(msg::start_atom_v);
  EXPECT_EQ(told(), (Lines{"trainer start 0", "trainer2 start 0"}));
  loops_.at("trainer2").make();
  actors_.settle();
  EXPECT_EQ(told(), Lines{});
  loops_.at("trainer").make();
  actors_.settle();
  EXPECT_EQ(told(), Lines{"policy start 0"});
  EXPECT_FALSE(*started);
  loops_.at("policy").make();
  actors_.settle();
  EXPECT_EQ(told(), Lines{"rollout start 0"});
  EXPECT_EQ(started->value_or("none"), "");
}

TEST_F(SupervisorStart, WaitsForALoopThatFailsAtFirst) {
  loops_.manners["trainer"].starts = false;
  spawn(three_stages());
  const auto started = ask(msg::start_atom_v);
  fail("trainer", "not yet");
  loops_.manners["trainer"].starts = true;
  told();
  advance(100 * kMillisecond);
  EXPECT_EQ(told(), (Lines{"trainer start 1", "policy start 0", "rollout start 0"}));
  EXPECT_EQ(started->value_or("none"), "");
}

TEST_F(SupervisorStart, GivesTheReasonOnceTheBudgetIsSpent) {
  loops_.manners["trainer"].starts = false;
  spawn({{.name = "trainer", .stage = 2, .restart = {.max_restarts = 0}}, {.name = "rollout"}});
  const auto started = ask(msg::start_atom_v);
  fail("trainer", "no file");
  EXPECT_EQ(started->value_or("none"), "worker trainer failed 1 time within 60 s; last: no file");
  EXPECT_EQ(told(), Lines{"trainer start 0"});
  EXPECT_EQ(status(1).state, LoopState::Configured);
}

TEST_F(SupervisorStart, EndsAtOnceWhenALoopCanNeverBeMade) {
  loops_.manners["trainer"].starts = false;
  spawn(three_stages());
  const auto started = ask(msg::start_atom_v);
  told();
  loops_.at("trainer").hopeless();
  fail("trainer", "no such setting");
  EXPECT_EQ(started->value_or("none"), "worker trainer cannot start: no such setting");
  advance(kSecond);
  EXPECT_EQ(told(), Lines{}) << "no other try";
}

TEST_F(SupervisorStart, StopDuringStartEndsItAndLaunchesNoMore) {
  loops_.manners["trainer"].starts = false;
  spawn(three_stages());
  const auto started = ask(msg::start_atom_v);
  tell(msg::stop_atom_v);
  EXPECT_EQ(started->value_or("none"), "shut down while starting");
  EXPECT_EQ(told(), (Lines{"trainer start 0", "trainer stop"}));
  EXPECT_EQ(board_->outcome()->code(), Code::Cancelled);
  EXPECT_EQ(*ask(msg::drain_atom_v, kSecond), "");
  EXPECT_EQ(told(), Lines{});
}

TEST_F(SupervisorStart, PauseBeforeTheStartHolds) {
  spawn({{.name = "a"}});
  tell(msg::pause_atom_v);
  EXPECT_EQ(*ask(msg::start_atom_v), "");
  EXPECT_EQ(told(), (Lines{"a pause", "a start 0"}));
}

TEST_F(SupervisorStart, RunEndsOnceEveryMarkedLoopHasFinished) {
  start({{.name = "a", .ends_run = true}, {.name = "b", .ends_run = true}, {.name = "c"}});
  finish("a");
  EXPECT_FALSE(board_->outcome());
  finish("b");
  ASSERT_TRUE(board_->outcome());
  EXPECT_TRUE(board_->outcome()->ok());
  EXPECT_EQ(status(2).state, LoopState::Running);
}

TEST_F(SupervisorStart, RunWithoutMarksEndsWithItsLastLoop) {
  start({{.name = "a"}, {.name = "b"}});
  finish("a");
  EXPECT_FALSE(board_->outcome());
  finish("b");
  EXPECT_TRUE(board_->outcome());
}

TEST_F(SupervisorShutdown, DrainsStageAfterStage) {
  for (const char* name : {"policy", "rollout", "trainer"}) loops_.manners[name].drains = false;
  start(three_stages());
  const auto down = ask(msg::drain_atom_v, 10 * kSecond);
  EXPECT_EQ(told(), Lines{"rollout drain"});
  finish("rollout");
  EXPECT_EQ(told(), Lines{"policy drain"});
  finish("policy");
  EXPECT_EQ(told(), Lines{"trainer drain"});
  EXPECT_FALSE(*down);
  finish("trainer");
  EXPECT_EQ(down->value_or("none"), "");
  EXPECT_TRUE(board_->outcome()->ok());
}

TEST_F(SupervisorShutdown, StopsAStageThatUsesUpItsShare) {
  loops_.manners["rollout"].drains = false;
  start(three_stages());
  const auto down = ask(msg::drain_atom_v, 10 * kSecond);
  EXPECT_EQ(told(), Lines{"rollout drain"});
  advance(3 * kSecond - 1);  // of 10 s, 1 s is kept for stopping; three stages share the rest
  EXPECT_EQ(told(), Lines{});
  advance(1);
  EXPECT_EQ(told(), (Lines{"rollout stop", "policy drain", "trainer drain"}));
  EXPECT_EQ(down->value_or("none"), "stopped before drained: rollout");
  EXPECT_EQ(board_->outcome()->code(), Code::DeadlineExceeded);
}

TEST_F(SupervisorShutdown, AbandonsWhatDoesNotEvenStop) {
  loops_.manners["policy"] = {.drains = false, .stops = false};
  start(three_stages());
  const auto down = ask(msg::drain_atom_v, 10 * kSecond);
  advance(10 * kSecond - 1);
  EXPECT_EQ(told(), (Lines{"rollout drain", "policy drain", "policy stop", "trainer drain"}));
  EXPECT_FALSE(*down);
  advance(1);
  EXPECT_EQ(told(), Lines{"policy abandon"});
  EXPECT_EQ(down->value_or("none"), "not ended within 10 s and abandoned: policy");
  EXPECT_EQ(board_->stuck(), 1);
  EXPECT_EQ(status(0).state, LoopState::Failed);
  EXPECT_EQ(status(0).last_error, "did not end within 10 s");
}

TEST_F(SupervisorShutdown, StopCutsItShort) {
  loops_.manners["rollout"].drains = false;
  start(three_stages());
  const auto down = ask(msg::drain_atom_v, 10 * kSecond);
  told();
  tell(msg::stop_atom_v);
  EXPECT_EQ(told(), (Lines{"policy stop", "rollout stop", "trainer stop"}));
  EXPECT_EQ(down->value_or("none"), "");
  EXPECT_EQ(board_->outcome()->code(), Code::Cancelled);
}

TEST_F(SupervisorShutdown, StoppedLoopsAreAbandonedToo) {
  loops_.manners["rollout"] = {.drains = false, .stops = false};
  start(three_stages());
  tell(msg::stop_atom_v);
  const auto down = ask(msg::drain_atom_v, kSecond);
  advance(kSecond);
  EXPECT_EQ(down->value_or("none"), "not ended within 1 s and abandoned: rollout");
}

TEST_F(SupervisorShutdown, OneAtATimeAndTheSameAnswerAfterwards) {
  loops_.manners["a"].drains = false;
  start({{.name = "a"}});
  const auto first = ask(msg::drain_atom_v, 4 * kSecond);
  EXPECT_EQ(*ask(msg::drain_atom_v, kSecond), "a shutdown is under way");
  advance(4 * kSecond);
  EXPECT_EQ(first->value_or("none"), "stopped before drained: a");
  EXPECT_EQ(*ask(msg::drain_atom_v, kSecond), "stopped before drained: a");
}

TEST_F(SupervisorShutdown, FirstOutcomeStays) {
  start({{.name = "a", .restart = {.max_restarts = 0}}, {.name = "b"}});
  fail("a");
  const std::string reason = board_->outcome()->message();
  EXPECT_EQ(*ask(msg::drain_atom_v, kSecond), "");
  EXPECT_EQ(board_->outcome()->message(), reason);
}

TEST_F(SupervisorShutdown, LoopsNeverStartedNeedNoEnd) {
  spawn(three_stages());
  EXPECT_EQ(*ask(msg::drain_atom_v, kSecond), "");
  EXPECT_EQ(told(), Lines{});
}

}  // namespace
}  // namespace sluice
