#include "dataflow/graph/run_control.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RunControl, KeepsTheFirstStopReasonAndWakesTheWatcher) {
  RunControl run;
  Waker launcher;
  run.watch(&launcher);
  const auto before = launcher.epoch();
  EXPECT_FALSE(run.stop_requested());
  run.request_stop("ctrl-c");
  run.request_stop("time");
  EXPECT_TRUE(run.stop_requested());
  EXPECT_EQ(run.stop_reason(), "ctrl-c");
  EXPECT_NE(launcher.epoch(), before);
}

TEST(RunControl, CheckpointWakesItsRequesterOnlyWhenDone) {
  RunControl run;
  Waker trainer;
  const auto before = trainer.epoch();
  run.request_checkpoint(12, &trainer);
  EXPECT_TRUE(run.checkpoint_pending());
  EXPECT_EQ(run.checkpoint_step(), 12);
  EXPECT_EQ(trainer.epoch(), before);
  run.checkpoint_done();
  EXPECT_FALSE(run.checkpoint_pending());
  EXPECT_EQ(run.checkpoint_step(), -1);
  EXPECT_NE(trainer.epoch(), before);
}

TEST(RunControl, BoardShowsTheLastReportedValue) {
  RunControl run({.run = 7, .incarnation = 1, .directory = "out", .max_steps = 3});
  run.report("reward", 1);
  run.report("reward", 2);
  EXPECT_EQ(run.value("reward"), 2);
  EXPECT_EQ(run.snapshot().size(), 1U);
  EXPECT_FALSE(run.value("loss").has_value());
  EXPECT_EQ(run.run(), 7U);
}

}  // namespace
}  // namespace sluice
