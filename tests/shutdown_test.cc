// How a run ends when it is told to.
#include "tests/support/child.h"
#include "tests/support/run_files.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

TEST(Shutdown, TheEndOfTheTerminalDrainsAndCheckpoints) {
  const TempDir dir;
  const std::string out = dir / "run";
  Child child(small_run(out));  // without end
  ASSERT_TRUE(child.wait_for("\"env_steps\"", 30, out + "/metrics.jsonl")) << child.printed();
  child.signal(SIGHUP);
  const Ended end = child.wait(30);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_FALSE(checkpoints(out).empty());
}

TEST(Shutdown, AReaderThatGoesAwayDoesNotEndTheRun) {
  const TempDir dir;
  const std::string out = dir / "run";
  Child child({"bash", "-c",
               sluice_binary() + " run ppo --out " + out +
                   " --set threads=1 --set eval_every=0 --max-steps 60000 2>&1 | head -n 1; exit "
                   "${PIPESTATUS[0]}"});
  const Ended end = child.wait(60);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 1);
  EXPECT_GE(last_metric(out, "env_steps"), 60000);
}

TEST(Shutdown, CtrlCDrainsCheckpointsAndEndsWell) {
  const TempDir dir;
  const std::string out = dir / "run";
  Child child(small_run(out));  // without end
  ASSERT_TRUE(child.wait_for("\"env_steps\"", 30, out + "/metrics.jsonl")) << child.printed();
  child.signal(SIGINT);
  const Ended end = child.wait(30);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("stopping in order"));
  EXPECT_THAT(end.err, HasSubstr("stopped: interrupted"));
  ASSERT_FALSE(checkpoints(out).empty());
  EXPECT_FALSE(in_use(out));

  // What was learned is all there: the run goes on from where it ended.
  const double steps = last_metric(out, "env_steps");
  EXPECT_GT(steps, 0);
  const auto limit = static_cast<int64_t>(steps) + 1280;
  const Ended resumed =
      sluice({"run", "ppo", "--quiet", "--resume", out, "--max-steps", std::to_string(limit)});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(read_text(out + "/log.txt"), HasSubstr("resuming from"));
  EXPECT_EQ(last_metric(out, "env_steps"), steps + 1280);
}

TEST(Shutdown, SigtermCountsAsCtrlC) {
  const TempDir dir;
  const std::string out = dir / "run";
  Child child(small_run(out));
  ASSERT_TRUE(child.wait_for("\"env_steps\"", 30, out + "/metrics.jsonl")) << child.printed();
  child.signal(SIGTERM);
  const Ended end = child.wait(30);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_FALSE(checkpoints(out).empty());
}

TEST(Shutdown, SecondCtrlCEndsAtOnce) {
  const TempDir dir;
  const std::string out = dir / "run";
  // One step of this environment takes a minute, so that nothing can drain in order.
  Child child(small_run(out, {"--env", "faulty:hang@20", "--set", "horizon=16", "--grace", "50",
                              "--step-deadline", "0"}));
  ASSERT_TRUE(child.wait_for("\"env_steps\"", 30, out + "/metrics.jsonl")) << child.printed();
  child.signal(SIGINT);
  ASSERT_TRUE(child.wait_for("stopping in order", 10)) << child.printed();
  child.signal(SIGINT);
  const Ended end = child.wait(20);
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(end.code, 130) << end.err;
}

TEST(Shutdown, TheTimeLimitEndsTheRunInOrder) {
  const TempDir dir;
  const std::string out = dir / "run";
  const Ended end = Child(small_run(out, {"--max-time", "0.5"})).wait(30);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the time limit was reached"));
  EXPECT_FALSE(checkpoints(out).empty());
}

}  // namespace
}  // namespace sluice::testing
