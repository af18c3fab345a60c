#include "dataflow/policy/admission_window.h"

#include "dataflow/policy/staleness_gate.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

VersionTag version(int64_t step, uint32_t incarnation = 1, uint64_t run = 1) {
  return {run, incarnation, step, static_cast<uint64_t>(step) * 10};
}
VersionSpan made_by(const VersionTag& tag) { return {tag, tag}; }

TEST(AdmissionWindow, RoomFollowsTheFormula) {
  AdmissionWindow window(1, 4);
  EXPECT_EQ(window.room(), 8);
  window.started(5);
  EXPECT_EQ(window.room(), 3);
  window.accepted(true);
  EXPECT_EQ(window.room(), 3) << "running became accepted";
  window.accepted(false);
  EXPECT_EQ(window.room(), 2);
  window.given_back(4);
  EXPECT_EQ(window.room(), 6);
  window.refunded(1);
  EXPECT_EQ(window.room(), 7);
  EXPECT_TRUE(window.advance(version(20), 0));
  EXPECT_EQ(window.room(), 7) << "the first version is v0";
  EXPECT_TRUE(window.advance(version(22), 0));
  EXPECT_EQ(window.room(), 15);
}

TEST(AdmissionWindow, IsNeverNegativeAndNeverLedBackwards) {
  AdmissionWindow window(0, 1);
  window.accepted(false);
  window.accepted(false);
  EXPECT_EQ(window.room(), 0);
  window.advance(version(5), 0);
  window.advance(version(9), 0);
  EXPECT_EQ(window.room(), 3);
  EXPECT_FALSE(window.advance(version(6), 0));
  EXPECT_FALSE(window.advance(VersionTag{}, 0));
  EXPECT_EQ(window.room(), 3);
}

TEST(AdmissionWindow, NewIncarnationCountsOnlyWhatIsHeldAndRunning) {
  AdmissionWindow window(0, 4);
  window.advance(version(0), 0);
  window.advance(version(9), 0);
  for (int i = 0; i < 38; ++i) window.accepted(false);
  window.started(2);
  EXPECT_EQ(window.room(), 0);
  window.advance(version(7, 2), 1);
  EXPECT_EQ(window.room(), 1) << "4 - 1 held - 2 running";
}

TEST(StalenessGate, JudgesByTheOldestVersion) {
  struct Row {
    int64_t max;
    OnStale on_stale;
    int64_t oldest, newest;
    Freshness wanted;
  };
  const Row rows[] = {
      {-1, OnStale::Drop, 0, 0, Freshness::Keep},  {0, OnStale::Drop, 10, 10, Freshness::Keep},
      {0, OnStale::Drop, 9, 10, Freshness::Drop},  {2, OnStale::Drop, 8, 8, Freshness::Keep},
      {2, OnStale::Drop, 7, 10, Freshness::Drop},  {2, OnStale::Wait, 7, 7, Freshness::Drop},
      {2, OnStale::Error, 7, 7, Freshness::Error}, {2, OnStale::Error, 8, 9, Freshness::Keep},
  };
  for (const Row& row : rows) {
    StalenessGate gate(row.max, row.on_stale);
    gate.advance(version(10));
    EXPECT_EQ(gate.judge({version(row.oldest), version(row.newest)}), row.wanted)
        << row.max << " " << row.oldest;
  }
}

TEST(StalenessGate, LineageCountsHoweverOldItemsMayBe) {
  StalenessGate gate(-1, OnStale::Drop);
  gate.advance(version(20, 2));
  gate.advance(version(15, 3));
  EXPECT_EQ(gate.judge(made_by(version(0, 2))), Freshness::Keep);
  EXPECT_EQ(gate.judge(made_by(version(18, 2))), Freshness::DropLineage);
  EXPECT_EQ(gate.judge(made_by(version(0, 2, 99))), Freshness::DropLineage) << "another run";
  EXPECT_EQ(gate.judge(made_by(version(10, 1))), Freshness::Keep) << "before the first one seen";
  EXPECT_EQ(gate.judge(made_by(version(10, 0))), Freshness::DropLineage) << "nobody can know";
}

TEST(StalenessGate, KeepsOnlyAncestorsAfterARestart) {
  StalenessGate gate(100, OnStale::Error);
  EXPECT_EQ(gate.judge(made_by(version(3))), Freshness::Keep) << "nothing is trained yet";
  gate.advance(version(20, 1));
  gate.advance(version(15, 2));
  EXPECT_FALSE(gate.advance(version(30, 1))) << "the old trainer is not followed";
  EXPECT_EQ(gate.judge(made_by(version(14, 1))), Freshness::Keep);
  EXPECT_EQ(gate.judge(made_by(version(15, 1))), Freshness::Keep) << "the same bytes";
  EXPECT_EQ(gate.judge(made_by(version(16, 1))), Freshness::DropLineage);
  EXPECT_EQ(gate.judge({version(14, 1), version(16, 1)}), Freshness::DropLineage);
  VersionTag other = version(15, 1);
  other.digest = 1;
  EXPECT_EQ(gate.judge(made_by(other)), Freshness::DropLineage);
  EXPECT_EQ(gate.judge(made_by(version(15, 2, 99))), Freshness::DropLineage) << "another run";
  EXPECT_EQ(gate.judge({}), Freshness::Keep) << "no policy made it";
  gate.advance(version(12, 3));
  EXPECT_EQ(gate.judge(made_by(version(12, 1))), Freshness::Keep) << "an ancestor two lives ago";
  EXPECT_EQ(gate.judge(made_by(version(13, 1))), Freshness::DropLineage) << "lost in this life";
  EXPECT_EQ(gate.judge(made_by(version(16, 1))), Freshness::DropLineage)
      << "lost in the one before";
  EXPECT_EQ(gate.judge(made_by(version(13, 2))), Freshness::DropLineage);
}

}  // namespace
}  // namespace sluice
