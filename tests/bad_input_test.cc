// What a user can get wrong, through the real command: every refusal is one clear message, and
// nothing that was there before is lost.
#include "tests/support/child.h"
#include "tests/support/run_files.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

namespace sluice::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BadInput : public ::testing::Test {
 protected:
  Ended run(std::vector<std::string> more, double seconds = 60) {
    return Child(small_run(out_, std::move(more))).wait(seconds);
  }
  /// A run that is refused before it starts: exit code 2, and no run directory.
  std::string refused(std::vector<std::string> more) {
    const Ended end = run(std::move(more));
    EXPECT_EQ(end.code, 2) << end.err;
    EXPECT_FALSE(std::filesystem::exists(out_));
    return end.err;
  }

  TempDir dir_;
  std::string out_ = dir_ / "run";
};

TEST_F(BadInput, UnknownKeyNamesTheNearest) {
  EXPECT_THAT(refused({"--set", "ppo.gama=0.9"}),
              AllOf(HasSubstr("ppo.gama"), HasSubstr("did you mean 'ppo.gamma'")));
}

TEST_F(BadInput, UnknownFlagIsNamed) {
  const Ended end = run({"--max-stps", "5"});
  EXPECT_NE(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr("--max-stps"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(BadInput, FlagsAndCommandsAreRefusedInOneLineWithWhatWouldBeRight) {
  struct Row {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Row rows[] = {
      {{"--max-stps", "5"}, "unknown flag '--max-stps', did you mean '--max-steps'"},
      {{"extra"}, "unexpected argument 'extra'"},
      {{"--max-steps", "-5"}, "'-5' is not a whole number of at least 0"},
      {{"--max-steps", "99999999999999999999"}, "is not a whole number of at least 0"},
      {{"--seed", "-1"}, "'-1' is not a whole number of at least 0"},
      {{"--seed", "18446744073709551616"}, "is not a whole number of at least 0"},
      {{"--seed", "1.5"}, "'1.5' is not a whole number"},
      {{"--max-time", "nan"}, "'nan' is not a number above 0"},
      {{"--max-time", "inf"}, "'inf' seconds are more than 1000000000"},
      {{"--max-time", "1e11"}, "'1e11' seconds are more than 1000000000"},
      {{"--max-time", "0"}, "'0' is not a number above 0"},
      {{"--grace", "nan"}, "'nan' is not a number above 0"},
      {{"--step-deadline", "nan"}, "'nan' is not a number of at least 0"},
      {{"--step-deadline", "-1"}, "'-1' is not a number of at least 0"},
      {{"--metrics-port", "65536"}, "'65536' is not a whole number from 0 to 65535"},
      {{"--env", ""}, "--env: must not be empty"},
      {{"--config", ""}, "--config: must not be empty"},
      {{"--resume", ""}, "--resume: must not be empty"},
  };
  for (const auto& row : rows) {
    const std::string text = refused(row.arguments);
    EXPECT_THAT(text, AllOf(::testing::StartsWith("error: "), HasSubstr(row.says)));
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "more than one line: " << text;
  }
  EXPECT_THAT(sluice({"run", "ppo", "--dry-run", "--out", ""}).err,
              HasSubstr("--out: must not be empty"));
  EXPECT_THAT(sluice({"eval", ""}).err, HasSubstr("must not be empty"));
  EXPECT_THAT(sluice({"lst"}).err, HasSubstr("unknown command 'lst', did you mean 'list'"));
}

TEST_F(BadInput, WholeNumbersMayBeWrittenAsInSettings) {
  const Ended end = run({"--max-steps", "1e3", "--seed", "1_000"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("1024 steps"));
  EXPECT_THAT(read_text(out_ + "/log.txt"), HasSubstr("with seed 1000"));
}

TEST_F(BadInput, EvaluationInAnotherKindOfEnvironmentTellsBothSpaces) {
  ASSERT_EQ(run({"--max-steps", "128"}).code, 0);
  const Ended end = sluice({"eval", out_, "--env", "Pendulum-v1"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("'CartPole-v1'"), HasSubstr("float32[4]"),
                             HasSubstr("'Pendulum-v1'"), HasSubstr("float32[3]")));
}

TEST_F(BadInput, NumbersOfABenchmarkThatCannotBeKeptAreNotMeasured) {
  const Ended end = sluice({"bench", "service", "--json", dir_ / "none/x.json"}, 20);
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("--json"), HasSubstr("none/x.json")));
}

TEST_F(BadInput, ValueOutOfRangeIsToldWithTheRange) {
  EXPECT_THAT(refused({"--set", "ppo.gamma=2"}), HasSubstr("ppo.gamma = 2 is out of range [0, 1]"));
}

TEST_F(BadInput, AllProblemsAreListedAtOnce) {
  EXPECT_THAT(refused({"--set", "ppo.gamma=2", "--set", "nets.hidden=[8]"}),
              AllOf(HasSubstr("ppo.gamma"), HasSubstr("nets.hidden")));
}

TEST_F(BadInput, UnknownRecipeNamesTheNearest) {
  const Ended end = sluice({"run", "pppo"});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("did you mean"), HasSubstr("'ppo'")));
}

TEST_F(BadInput, UnknownEnvironmentNamesTheNearest) {
  EXPECT_THAT(refused({"--env", "CartPol"}), AllOf(HasSubstr("unknown environment 'CartPol'"),
                                                   HasSubstr("did you mean 'CartPole-v1'")));
}

TEST_F(BadInput, EnvironmentThatDoesNotFitTheNetTellsBothSpecs) {
  EXPECT_THAT(refused({"--set", "policy.env=Pendulum-v1"}),
              AllOf(HasSubstr("'rollout' asks with obs float32[4]"),
                    HasSubstr("'policy' serves obs float32[3]")));
}

TEST_F(BadInput, BatchThatDoesNotDivideNamesAllNumbers) {
  EXPECT_THAT(
      refused({"--set", "ppo.minibatches=3"}),
      HasSubstr("8 chunks x 16 steps = 128 rows does not divide into 3 minibatches (2 rows"));
}

TEST_F(BadInput, MalformedTomlNamesFileAndLine) {
  write_text(dir_ / "bad.toml", "seed = 1\na = [\n");
  EXPECT_THAT(refused({"--config", dir_ / "bad.toml"}),
              AllOf(HasSubstr("bad.toml:"), HasSubstr("not valid TOML")));
}

TEST_F(BadInput, MissingConfigFileIsNamed) {
  EXPECT_THAT(refused({"--config", dir_ / "none.toml"}), HasSubstr("none.toml"));
}

TEST_F(BadInput, RunDirectoryThatExistsIsLeftAlone) {
  std::filesystem::create_directory(out_);
  write_text(out_ + "/precious", "mine");
  const Ended end = run({"--max-steps", "0"});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("exists"), HasSubstr("--out"), Not(HasSubstr("--resume"))))
      << "it is no run that could be resumed";
  EXPECT_EQ(read_text(out_ + "/precious"), "mine");
  EXPECT_FALSE(std::filesystem::exists(out_ + "/config.toml"));
}

TEST_F(BadInput, ZeroStepRunEndsWellWithACheckpoint) {
  const Ended end = run({"--max-steps", "0"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("0 steps in"));
  EXPECT_EQ(checkpoints(out_).size(), 1U);
}

TEST_F(BadInput, MetricsPortInUseIsNamed) {
  const int taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  socklen_t size = sizeof address;
  ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Ended end = run({"--max-steps", "500", "--metrics-port", port});
  ::close(taken);
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr(port));
  EXPECT_FALSE(std::filesystem::exists(out_)) << "the same --out must work with another port";
}

TEST_F(BadInput, FullDiskAtTheStartLeavesNothingInTheWay) {
  // No file may grow beyond 1 KiB: less than the settings have.
  std::string command = "trap '' XFSZ; ulimit -f 1; exec";
  for (const auto& argument : small_run(out_, {"--max-steps", "128"})) {
    command += " '" + argument + "'";
  }
  const Ended end = Child({"bash", "-c", command}).wait();
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, AllOf(HasSubstr("cannot start"), HasSubstr("File too large"),
                             Not(HasSubstr("LOG ERROR"))));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// --- environments that misbehave -----------------------------------------------------------------

/// The reason of a run that restarted its rollouts in vain.
std::string reason_of(const Ended& end) {
  EXPECT_EQ(end.code, 1) << end.err;
  EXPECT_THAT(end.err, HasSubstr("failed and restarts in"));
  const size_t at = end.err.find("run failed: ");
  EXPECT_NE(at, std::string::npos) << end.err;
  const std::string reason = end.err.substr(at == std::string::npos ? 0 : at);
  EXPECT_EQ(reason.find('\n'), reason.size() - 1) << "more than one line: " << reason;
  return reason;
}

TEST_F(BadInput, NanObservationEndsTheRunNamingWorkerSlotAndStep) {
  EXPECT_THAT(reason_of(run({"--env", "faulty:nan-obs@40", "--max-steps", "5000"})),
              AllOf(HasSubstr("rollout/0"), HasSubstr("NaN or Inf in 'obs'"),
                    HasSubstr("slot 0, step 40")));
}

TEST_F(BadInput, InfiniteRewardEndsTheRunNamingWorkerSlotAndStep) {
  EXPECT_THAT(
      reason_of(run({"--env", "faulty:inf-reward@40", "--max-steps", "5000"})),
      AllOf(HasSubstr("rollout/0"), HasSubstr("the reward inf"), HasSubstr("slot 0, step 40")));
}

TEST_F(BadInput, EnvironmentThatThrowsEndsTheRunNamingWorkerSlotAndStep) {
  EXPECT_THAT(
      reason_of(run({"--env", "faulty:throw@40", "--max-steps", "5000"})),
      AllOf(HasSubstr("rollout/0"), HasSubstr("throws, as asked"), HasSubstr("slot 0, step 40")));
}

TEST_F(BadInput, EnvironmentThatFailsEndsTheRunNamingWorkerSlotAndStep) {
  EXPECT_THAT(
      reason_of(run({"--env", "faulty:error@40", "--max-steps", "5000"})),
      AllOf(HasSubstr("rollout/0"), HasSubstr("fails, as asked"), HasSubstr("slot 0, step 40")));
}

TEST_F(BadInput, NanFromAResetIsDroppedToo) {
  EXPECT_THAT(reason_of(run({"--env", "faulty:nan-reset@2", "--max-steps", "5000"})),
              AllOf(HasSubstr("rollout/0"), HasSubstr("NaN or Inf in 'obs'")));
  for (const char* fault : {"faulty:nan-reset@1", "faulty:nan-reset@2"}) {
    SCOPED_TRACE(fault);
    out_ = dir_ / fault;
    const Ended end =
        run({"--env", fault, "--max-steps", "5000", "--set", "rollout.on_bad_step=drop_episode"});
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("episode is dropped (1 so far)"), Not(HasSubstr("restarts"))));
  }
}

TEST_F(BadInput, WorkersThatDoNotFitEachOtherAreRefusedBeforeTheRun) {
  EXPECT_THAT(refused({"--set", "eval_every=5", "--set", "evaluator.net.hidden=[8]", "--set",
                       "policy.net.hidden=[8]", "--set", "rollout.horizon=64"}),
              AllOf(HasSubstr("worker 'evaluator' follows"), HasSubstr("worker 'policy' follows"),
                    HasSubstr("items of 64 steps")));
}

TEST_F(BadInput, FailedRunKeepsWhatWasLearned) {
  // Every rollout throws after a while, again and again; nobody asked for checkpoints.
  reason_of(
      run({"--env", "faulty:throw@1500", "--max-steps", "1000000", "--set", "checkpoint_every=0"}));
  ASSERT_FALSE(checkpoints(out_).empty());
  EXPECT_GT(last_metric(out_, "env_steps"), 0);
  EXPECT_EQ(sluice({"eval", out_, "--episodes", "1"}).code, 0);
}

TEST_F(BadInput, BadStepsAreDroppedAndToldWhenAsked) {
  for (const char* fault : {"faulty:nan-obs@40", "faulty:inf-reward@40"}) {
    SCOPED_TRACE(fault);
    out_ = dir_ / fault;
    const Ended end =
        run({"--env", fault, "--max-steps", "5000", "--set", "rollout.on_bad_step=drop_episode"});
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("rollout/0"), HasSubstr("slot 0, step 40"),
                      HasSubstr("episode is dropped (1 so far)"),
                      HasSubstr("episode is dropped (8 so far)"), Not(HasSubstr("restarts"))));
    EXPECT_GE(last_metric(out_, "env_steps"), 5000);
  }
}

TEST_F(BadInput, EnvironmentThatHangsIsGivenUpAndTheRunGoesOnWithAFreshOne) {
  // Each fresh copy hangs at its own step 400 again. By then the run has more than its steps.
  const Ended end = run({"--env", "faulty:hang@400", "--max-steps", "5000", "--step-deadline",
                         "0.4", "--grace", "2"});
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("rollout/0"), HasSubstr("a step hangs for more than 400 ms"),
                             HasSubstr("slot 0, step 400"), HasSubstr("its thread is abandoned")));
  EXPECT_GE(last_metric(out_, "env_steps"), 5000);
}

TEST_F(BadInput, EnvironmentThatAlwaysHangsEndsTheRun) {
  const Ended end = run(
      {"--env", "faulty:hang@3", "--max-steps", "5000", "--step-deadline", "0.4", "--grace", "1"});
  EXPECT_FALSE(end.timed_out);
  EXPECT_THAT(reason_of(end), AllOf(HasSubstr("rollout/0"), HasSubstr("hangs for more than 400 ms"),
                                    HasSubstr("slot 0, step 3")));
}

TEST_F(BadInput, EvaluationThatHangsIsToldWithItsEpisode) {
  const Ended end = run({"--set", "eval_every=1", "--set", "evaluator.env=faulty:hang@1",
                         "--max-steps", "1280", "--step-deadline", "0.4", "--grace", "3"});
  EXPECT_FALSE(end.timed_out);
  EXPECT_THAT(end.err, AllOf(HasSubstr("evaluator/0"), HasSubstr("hangs for more than 400 ms"),
                             HasSubstr("episode 0, step 1")));
}

}  // namespace
}  // namespace sluice::testing
