// A run directory after a crash, a full disk, damage, and mistakes.
#include "apps/observe/checkpoint_store.h"
#include "tests/support/child.h"
#include "tests/support/run_files.h"
#include "workers/saved_policy.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Resume : public ::testing::Test {
 protected:
  /// A finished run of 10 versions of 128 steps, with a checkpoint after each.
  void finished_run() {
    const Ended end =
        Child(small_run(out_, {"--max-steps", "1280", "--set", "checkpoint_every=1"})).wait();
    ASSERT_EQ(end.code, 0) << end.err;
    ASSERT_GE(checkpoints(out_).size(), 2U);
  }
  [[nodiscard]] std::vector<std::string> resume(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"run", "ppo", "--quiet", "--resume", out_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::string checkpoint(size_t i) const {
    return out_ + "/checkpoints/" + checkpoints(out_).at(i);
  }

  TempDir dir_;
  std::string out_ = dir_ / "run";
};

TEST_F(Resume, GoesOnAfterKillNine) {
  Child child(small_run(out_, {"--set", "checkpoint_every=1"}));
  ASSERT_TRUE(child.wait_until([&] { return !checkpoints(out_).empty(); }, 30)) << child.printed();
  ASSERT_TRUE(child.running());
  child.signal(SIGKILL);
  EXPECT_EQ(child.wait().code, 128 + SIGKILL);
  ASSERT_FALSE(checkpoints(out_).empty());
  const double before = last_metric(out_, "env_steps");

  const auto limit = static_cast<int64_t>(before) + 2560;
  const Ended end = sluice(resume({"--max-steps", std::to_string(limit)}));
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(read_text(out_ + "/log.txt"), HasSubstr("resuming from"));
  EXPECT_GE(last_metric(out_, "env_steps"), static_cast<double>(limit));
}

TEST_F(Resume, KeepsItsIdentityHoweverTheDirectoryIsNamed) {
  finished_run();
  const auto run_of = [&] {
    const auto newest = CheckpointStore(out_ + "/checkpoints", "ppo").load_latest();
    EXPECT_TRUE(newest.ok());
    const auto policy = SavedPolicy::load(newest->workers.at("trainer/0"));
    EXPECT_TRUE(policy.ok());
    return std::pair(policy->weights.tag.run, policy->weights.tag.step);
  };
  const auto before = run_of();
  const std::string script = "cd '" + dir_.path() + "' && exec " + sluice_binary() +
                             " run ppo --quiet --resume run --max-steps 1408";
  const Ended end = Child({"bash", "-c", script}).wait();
  EXPECT_EQ(end.code, 0) << end.err;
  const auto after = run_of();
  EXPECT_EQ(after.second, before.second + 1);
  EXPECT_EQ(after.first, before.first);

  fs::rename(out_, dir_ / "moved");
  out_ = dir_ / "moved";
  const Ended again = sluice(resume({"--max-steps", "1536"}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(run_of().first, before.first);
}

TEST_F(Resume, DamagedCheckpointFallsBackToTheOneBefore) {
  finished_run();
  const std::string second = checkpoints(out_).at(1);
  damage(checkpoint(0));
  const Ended end = sluice(resume({"--max-steps", "2560"}));
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("warning"), HasSubstr("damaged"),
                             HasSubstr("trying the checkpoint before it")));
  EXPECT_THAT(read_text(out_ + "/log.txt") + end.err, HasSubstr(second));
  EXPECT_GE(last_metric(out_, "env_steps"), 2560);
}

TEST_F(Resume, NothingButDamagedCheckpointsIsAnErrorThatTouchesNothing) {
  finished_run();
  const std::string config = read_text(out_ + "/config.toml");
  for (size_t i = 0; i < checkpoints(out_).size(); ++i) damage(checkpoint(i));
  const auto before = checkpoints(out_);
  const Ended end = sluice(resume({"--max-steps", "2560"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr("is whole"));
  EXPECT_EQ(checkpoints(out_), before);
  EXPECT_EQ(read_text(out_ + "/config.toml"), config);
}

TEST_F(Resume, CheckpointOfAnotherGraphIsRefused) {
  finished_run();
  for (const auto& name : checkpoints(out_)) fs::remove_all(out_ + "/checkpoints/" + name);
  CheckpointStore foreign(out_ + "/checkpoints", "another");
  ASSERT_TRUE(foreign.save(10, {{"trainer/0", Snapshot()}}, {}).ok());
  const Ended end = sluice(resume({"--max-steps", "2560"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("another"), HasSubstr("ppo")));
}

TEST_F(Resume, FullDiskUpToTheEndFailsTheRunAndKeepsTheLastGoodCheckpoint) {
  finished_run();
  const std::string good = checkpoints(out_).at(0);
  // No file may grow beyond 16 KiB: the metrics fit, a trainer's state does not.
  std::string command = "trap '' XFSZ; ulimit -f 16; exec " + sluice_binary();
  for (const auto& argument : resume({"--max-steps", "2560"})) command += " '" + argument + "'";
  const Ended end = Child({"bash", "-c", command}).wait();
  EXPECT_EQ(end.code, 1) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("warning"), HasSubstr("failed, the run goes on")));
  EXPECT_THAT(end.err, HasSubstr("2560 steps"));
  EXPECT_THAT(end.err, AllOf(HasSubstr("the final state was not saved"), HasSubstr(good)));
  EXPECT_EQ(checkpoints(out_).at(0), good);

  const Ended again = sluice(resume({"--max-steps", "2560"}));  // with room on the disk
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(checkpoints(out_).at(0), good);
}

TEST_F(Resume, ACheckpointThatFailsOnTheWayIsOnlyAWarning) {
  Child child(small_run(out_, {"--set", "checkpoint_every=1"}));
  const std::string folder = out_ + "/checkpoints";
  ASSERT_TRUE(child.wait_until([&] { return !checkpoints(out_).empty(); }, 30)) << child.printed();
  fs::rename(folder, out_ + "/elsewhere");
  ASSERT_TRUE(child.wait_for("failed, the run goes on", 30)) << child.printed();
  fs::rename(out_ + "/elsewhere", folder);
  child.signal(SIGINT);
  const Ended end = child.wait(30);
  EXPECT_EQ(end.code, 0) << end.err;
}

TEST_F(Resume, ARunDirectoryThatIsDeletedMeanwhileFailsTheRunAndDoesNotComeBack) {
  Child child(small_run(out_, {"--set", "checkpoint_every=1"}));
  ASSERT_TRUE(child.wait_until([&] { return !checkpoints(out_).empty(); }, 30)) << child.printed();
  fs::rename(out_, dir_ / "elsewhere");
  ASSERT_TRUE(child.wait_for("failed, the run goes on", 30)) << child.printed();
  child.signal(SIGINT);
  const Ended end = child.wait(30);
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("the final state was not saved"), HasSubstr("no checkpoint")));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(Resume, MissingDirectoryIsNamed) {
  const Ended end = sluice({"run", "ppo", "--resume", dir_ / "nowhere"});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("there is no run in"), HasSubstr("nowhere")));
  EXPECT_FALSE(fs::exists(dir_ / "nowhere"));
}

TEST_F(Resume, EmptyDirectoryIsNoRun) {
  fs::create_directory(out_);
  const Ended end = sluice(resume());
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr("there is no run in"));
  EXPECT_TRUE(fs::is_empty(out_));
}

TEST_F(Resume, AnotherEnvironmentIsRefusedAndNothingIsTouched) {
  finished_run();
  const std::string config = read_text(out_ + "/config.toml");
  const Ended flag = sluice(resume({"--env", "Pendulum-v1"}));
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.err, HasSubstr("--env"));
  const Ended setting = sluice(resume({"--set", "env=Pendulum-v1"}));
  EXPECT_EQ(setting.code, 2) << setting.err;
  EXPECT_THAT(setting.err, AllOf(HasSubstr("CartPole-v1"), HasSubstr("Pendulum-v1")));
  EXPECT_EQ(read_text(out_ + "/config.toml"), config);
}

TEST_F(Resume, AnotherNetworkIsRefusedAndTheSettingsStay) {
  finished_run();
  const std::string config = read_text(out_ + "/config.toml");
  const Ended end = sluice(resume({"--set", "net.hidden=[8]", "--max-steps", "2560"}));
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("trainer/0"), HasSubstr("cannot take over its saved state")));
  EXPECT_EQ(end.err.find('\n'), end.err.size() - 1) << "tried more than once: " << end.err;
  EXPECT_EQ(read_text(out_ + "/config.toml"), config);
}

TEST_F(Resume, TwoRunsCannotShareADirectory) {
  Child first(small_run(out_, {"--set", "checkpoint_every=1"}));
  ASSERT_TRUE(first.wait_for("\"env_steps\"", 30, out_ + "/metrics.jsonl")) << first.printed();
  const Ended second = sluice(resume());
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("in use by another process"));
  const Ended third = Child(small_run(out_)).wait();
  EXPECT_EQ(third.code, 2);
  EXPECT_TRUE(first.running()) << "the first run must not notice";
  first.signal(SIGINT);
  EXPECT_EQ(first.wait(30).code, 0);
}

}  // namespace
}  // namespace sluice::testing
