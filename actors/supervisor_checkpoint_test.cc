#include "tests/support/supervisor_fixture.h"

namespace sluice {
namespace {

class SupervisorCheckpoint : public SupervisorFixture {
 protected:
  /// Names of the workers in the checkpoint of this ticket.
  Lines shelved(int64_t ticket) {
    Lines names;
    for (const auto& [name, snapshot] : board_->take(ticket)) names.push_back(name);
    return names;
  }
};

TEST_F(SupervisorCheckpoint, HoldsThePartsOfEveryLoop) {
  start({{.name = "a"}, {.name = "b"}});
  Snapshots two;
  two["b/0"];
  two["b/1"];
  loops_.at("b").content(two);
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{7}), "");
  EXPECT_EQ(told(), (Lines{"a save 7", "b save 7"}));
  EXPECT_EQ(shelved(7), (Lines{"a", "b/0", "b/1"}));
  EXPECT_EQ(shelved(7), Lines{}) << "taken once";
}

TEST_F(SupervisorCheckpoint, FinishedLoopsGiveTheirFinalState) {
  start({{.name = "a"}, {.name = "b"}});
  finish("a");
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{1}), "");
  EXPECT_EQ(shelved(1), (Lines{"a", "b"}));
  finish("b");
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{2}), "");
  EXPECT_EQ(shelved(2), (Lines{"a", "b"}));
}

TEST_F(SupervisorCheckpoint, RefusedWhileALoopIsDown) {
  start({{.name = "a"}, {.name = "b"}});
  fail("b");
  told();
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{1}), "worker b is restarting");
  EXPECT_EQ(told(), Lines{}) << "nobody is bothered";
  advance(100 * kMillisecond);
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{2}), "");
}

TEST_F(SupervisorCheckpoint, ALoopThatIsDownAndNotEssentialIsLeftOut) {
  start({{.name = "a"}, {.name = "b", .essential = false}});
  fail("b");
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{1}), "");
  EXPECT_EQ(shelved(1), Lines{"a"});
  advance(100 * kMillisecond);
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{2}), "");
  EXPECT_EQ(shelved(2), (Lines{"a", "b"})) << "it is back";
}

TEST_F(SupervisorCheckpoint, ALoopThatFailsMeanwhileAndIsNotEssentialIsLeftOut) {
  loops_.manners["b"].saves = false;
  start({{.name = "a"}, {.name = "b", .essential = false}});
  const auto saved = ask(msg::save_atom_v, int64_t{1});
  fail("b", "boom");
  EXPECT_EQ(saved->value_or("none"), "");
  EXPECT_EQ(shelved(1), Lines{"a"});
}

TEST_F(SupervisorCheckpoint, IsTakenFromWhatIsAliveAfterABudgetIsSpent) {
  start({{.name = "a"}, {.name = "b", .restart = {.max_restarts = 0}, .essential = false}});
  fail("b");
  EXPECT_TRUE(board_->outcome().has_value());
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{1}), "");
  EXPECT_EQ(shelved(1), Lines{"a"});
}

TEST_F(SupervisorCheckpoint, FailsWhenALoopFailsMeanwhile) {
  loops_.manners["b"].saves = false;
  start({{.name = "a"}, {.name = "b"}});
  const auto saved = ask(msg::save_atom_v, int64_t{1});
  EXPECT_FALSE(*saved);
  fail("b", "boom");
  EXPECT_EQ(saved->value_or("none"), "worker b: boom");
  EXPECT_EQ(shelved(1), Lines{});
}

TEST_F(SupervisorCheckpoint, FailsWhenALoopHangsMeanwhile) {
  loops_.manners["b"].saves = false;
  start({{.name = "a"}, {.name = "b"}}, kSecond);
  loops_.at("b").stepping(true);
  const auto saved = ask(msg::save_atom_v, int64_t{1});
  advance(2 * kSecond);
  EXPECT_EQ(saved->value_or("none"), "worker b: its thread was abandoned");
  EXPECT_EQ(shelved(1), Lines{});
  loops_.manners["b"].saves = true;
  fail("b");
  advance(kSecond);
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{2}), "") << "the next one is not in its way";
}

TEST_F(SupervisorCheckpoint, TakesTheFinalStateOfALoopThatFinishesMeanwhile) {
  loops_.manners["b"].saves = false;
  start({{.name = "a"}, {.name = "b"}});
  const auto saved = ask(msg::save_atom_v, int64_t{1});
  finish("b");
  EXPECT_EQ(saved->value_or("none"), "");
  EXPECT_EQ(shelved(1), (Lines{"a", "b"}));
}

TEST_F(SupervisorCheckpoint, AWorkersFailureToSaveIsNamed) {
  loops_.manners["a"].saves = false;
  start({{.name = "a"}, {.name = "b"}});
  const auto saved = ask(msg::save_atom_v, int64_t{1});
  loops_.at("a").save(error(Code::Internal, "disk"));
  actors_.settle();
  EXPECT_EQ(saved->value_or("none"), "worker a: " + error(Code::Internal, "disk").to_string());
  EXPECT_EQ(status(0).state, LoopState::Running) << "the run goes on";
}

TEST_F(SupervisorCheckpoint, OneAtATime) {
  loops_.manners["a"].saves = false;
  start({{.name = "a"}});
  const auto first = ask(msg::save_atom_v, int64_t{1});
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{2}), "another checkpoint is under way");
  loops_.at("a").save({});
  actors_.settle();
  EXPECT_EQ(first->value_or("none"), "");
  EXPECT_EQ(shelved(1), Lines{"a"});
}

TEST_F(SupervisorCheckpoint, WorkersOfTwoLoopsMayNotShareAName) {
  start({{.name = "a"}, {.name = "b"}});
  Snapshots same;
  same["a"];
  loops_.at("b").content(same);
  EXPECT_EQ(*ask(msg::save_atom_v, int64_t{1}), "two workers are named 'a'");
}

}  // namespace
}  // namespace sluice
