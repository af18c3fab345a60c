// What the command says and does when it is used as meant. tests/bad_input_test.cc has the rest.
#include "tests/support/child.h"
#include "tests/support/run_files.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// The value of a key in a resolved config.toml, as it is written there; "" when it has none.
std::string value_in(const std::string& config, const std::string& section,
                     const std::string& key) {
  std::string now;
  for (const std::string& line : lines(config)) {
    if (line.starts_with("[")) now = line.substr(1, line.find(']') - 1);
    if (now != section || !line.starts_with(key + " = ")) continue;
    const size_t from = key.size() + 3;
    return line.substr(from, line.find("  #") - from);
  }
  return "";
}

class Cli : public ::testing::Test {
 protected:
  /// The resolved settings of a run that trains on nothing.
  std::string settings(std::vector<std::string> more) {
    out_ = dir_ / ("run" + std::to_string(++runs_));
    std::vector<std::string> all{"run", "ppo", "--quiet", "--out", out_, "--max-steps", "0"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended end = sluice(std::move(all));
    EXPECT_EQ(end.code, 0) << end.err;
    return read_text(out_ + "/config.toml");
  }
  std::string toml(const std::string& text) {
    const std::string path = dir_ / "settings.toml";
    write_text(path, text);
    return path;
  }

  TempDir dir_;
  std::string out_ = dir_ / "run";
  int runs_ = 0;
};

TEST_F(Cli, TellsItsVersion) {
  const Ended end = sluice({"--version"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, MatchesRegex("sluice [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Cli, WithoutACommandItSaysWhatThereIs) {
  const Ended end = sluice({});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.out + end.err, HasSubstr("--help"));
  const Ended help = sluice({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* name : {"run", "list", "eval", "bench", "doctor", "completion"}) {
    EXPECT_THAT(help.out, HasSubstr(name));
  }
}

TEST_F(Cli, ListsRecipesAndEnvironments) {
  const Ended all = sluice({"list"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out,
              AllOf(HasSubstr("recipes\n"), HasSubstr("\n  ppo "), HasSubstr("environments\n"),
                    HasSubstr("CartPole-v1    observes {obs float32[4]}, acts 1 of 2\n"),
                    HasSubstr("Pendulum-v1    observes {obs float32[3]}, acts action ")));
  EXPECT_THAT(lines(sluice({"list", "recipes"}).out), IsSupersetOf({"ppo", "grpo", "dapo"}));
  EXPECT_THAT(lines(sluice({"list", "tasks"}).out), IsSupersetOf({"arithmetic", "countdown"}));
  EXPECT_THAT(lines(sluice({"list", "envs"}).out), IsSupersetOf({"CartPole-v1", "Pendulum-v1"}));
  EXPECT_EQ(sluice({"list", "nonsense"}).code, 2);
}

TEST_F(Cli, BenchListsItsMeasurements) {
  const Ended end = sluice({"bench", "--list"});
  EXPECT_EQ(end.code, 0);
  for (const char* name : {"service", "stream", "idle", "ppo-cartpole", "repeat"}) {
    EXPECT_THAT(end.out, HasSubstr(name));
  }
}

// --- plans and settings --------------------------------------------------------------------------

TEST_F(Cli, DryRunPrintsThePlanAndStartsNothing) {
  const Ended end = sluice({"run", "ppo", "--dry-run", "--out", out_, "--set", "replicas=3"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("graph ppo\n"), HasSubstr("rollout (rollout): 3 replicas"),
                             HasSubstr("3 x [rollout, policy]\n"), HasSubstr("estimated memory"),
                             HasSubstr("service act (Observation -> Action)")));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(Cli, DryRunRefusesWhatCannotRun) {
  const Ended end = sluice({"run", "ppo", "--dry-run", "--set", "ppo.minibatches=3"});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.out, IsEmpty());
  EXPECT_THAT(end.err, HasSubstr("minibatches"));
}

TEST_F(Cli, RecipeNameAloneIsShortForRun) {
  const Ended longer = sluice({"run", "ppo", "--dry-run"});
  const Ended shorter = sluice({"ppo", "--dry-run"});
  EXPECT_EQ(shorter.code, 0) << shorter.err;
  EXPECT_EQ(shorter.out, longer.out);
}

TEST_F(Cli, PlacementComesFromAToml) {
  const std::string file = toml(
      "[placement.rollout]\nreplicas = 2\n\n[placement.policy]\nwith = \"trainer\"\n\n"
      "[placement.trainer]\nthreads = 1\n");
  const Ended end = sluice({"run", "ppo", "--dry-run", "--config", file});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("rollout (rollout): 2 replicas"),
                             HasSubstr("2 x [rollout]\n"), HasSubstr("1 x [trainer, policy]\n"),
                             HasSubstr("trainer (trainer): 1 replica, 1 thread each")));
  const Ended over = sluice(
      {"run", "ppo", "--dry-run", "--config", file, "--set", "placement.rollout.replicas=4"});
  EXPECT_THAT(over.out, HasSubstr("rollout (rollout): 4 replicas")) << "--set wins";
}

TEST_F(Cli, SettingsOfWorkersAndChannelsComeFromATomlToo) {
  const Ended end = sluice({"run", "ppo", "--dry-run", "--config",
                            toml("[samples]\ncapacity = 99\n"), "--set", "act.batch_limit=7"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("capacity 99"), HasSubstr("batch 7")));
}

TEST_F(Cli, LaterSourcesOfASettingWin) {
  const std::string file =
      toml("envs = 8\n[run]\nseed = 5\n[ppo]\ngamma = 0.9\nclip = 0.3\nminibatches = 2\n");
  const std::string config = settings({"--set", "ppo.clip=0.25", "--seed", "7", "--config", file,
                                       "--set", "run.seed=6", "--set", "ppo.minibatches=4"});
  EXPECT_EQ(value_in(config, "ppo", "max_grad_norm"), "0.5") << "the C++ default";
  EXPECT_EQ(value_in(config, "ppo", "gamma"), "0.9") << "the file beats the default";
  EXPECT_EQ(value_in(config, "ppo", "clip"), "0.25") << "--set beats the file, wherever it stands";
  EXPECT_EQ(value_in(config, "ppo", "minibatches"), "4");
  EXPECT_EQ(value_in(config, "run", "seed"), "7") << "a flag beats --set";
  EXPECT_EQ(value_in(config, "", "envs"), "8");
}

TEST_F(Cli, TheLastOfTwoAssignmentsWins) {
  const std::string config = settings({"--set", "ppo.clip=0.25", "--set", "ppo.clip=0.15"});
  EXPECT_EQ(value_in(config, "ppo", "clip"), "0.15");
}

TEST_F(Cli, WhatSuitsTheEnvironmentIsADefaultOnly) {
  const std::string suited = settings({"--env", "Pendulum-v1"});
  EXPECT_EQ(value_in(suited, "", "env"), "\"Pendulum-v1\"");
  EXPECT_EQ(value_in(suited, "ppo", "gamma"), "0.9");
  EXPECT_EQ(value_in(suited, "net", "normalise_observations"), "true");
  const std::string config =
      settings({"--env", "Pendulum-v1", "--config", toml("[ppo]\ngamma = 0.95\n")});
  EXPECT_EQ(value_in(config, "ppo", "gamma"), "0.95");
  EXPECT_EQ(value_in(config, "net", "normalise_observations"), "true");
}

TEST_F(Cli, ResolvedConfigGivesTheSameRunAgain) {
  const std::string config = settings({"--set", "ppo.clip=0.25", "--set", "envs=16", "--set",
                                       "rollout.on_bad_step=drop_episode", "--seed", "9"});
  EXPECT_EQ(settings({"--config", out_ + "/config.toml"}), config);
}

TEST_F(Cli, HelpOfSettingsNamesKeysValuesAndRanges) {
  const Ended end = sluice({"run", "ppo", "--help-settings"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("ppo.gamma = 0.98"), HasSubstr("[0, 1]"),
                    HasSubstr("placement.rollout.replicas"), HasSubstr("samples.capacity")));
}

// --- progress ------------------------------------------------------------------------------------

TEST_F(Cli, ProgressAndMetricsShowTheStaleness) {
  auto arguments = small_run(out_, {"--max-steps", "1280"});
  std::erase(arguments, "--quiet");
  const Ended end = Child(std::move(arguments)).wait();
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("1.28k steps"), HasSubstr("staleness 0.0"), Not(HasSubstr("\x1b"))))
      << "piped: plain lines";
  EXPECT_EQ(last_metric(out_, "staleness"), 0) << "strictly on-policy";
}

// --- eval ----------------------------------------------------------------------------------------

TEST_F(Cli, EvalScoresTheNewestPolicyAndRepeats) {
  const Ended run =
      Child(small_run(out_, {"--max-steps", "1280", "--set", "checkpoint_every=1"})).wait();
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> command{"eval", out_, "--episodes", "5"};
  const Ended end = sluice(command);
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(StartsWith("version v10."), HasSubstr("over 5 episodes\n")));
  EXPECT_EQ(sluice(command).out, end.out) << "the same seed plays the same episodes";
  const Ended json = sluice({"eval", out_, "--episodes", "5", "--json"});
  EXPECT_THAT(json.out, StartsWith("{\"version\": 10, \"episodes\": 5, \"mean\": "));

  const std::string older = out_ + "/checkpoints/" + checkpoints(out_).at(1);
  const Ended before = sluice({"eval", out_, "--checkpoint", older, "--episodes", "5"});
  EXPECT_THAT(before.out, StartsWith("version v9."));
  const Ended misfit = sluice({"eval", out_, "--env", "Pendulum-v1"});
  EXPECT_EQ(misfit.code, 1);
  EXPECT_THAT(misfit.err, StartsWith("error: "));
}

TEST_F(Cli, EvalOfNoRunIsAnError) {
  const Ended end = sluice({"eval", dir_ / "nowhere"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("there is no run in"), HasSubstr("nowhere")));
}

// --- doctor --------------------------------------------------------------------------------------

TEST_F(Cli, DoctorSaysWhatThisMachineHas) {
  const Ended end = sluice({"doctor"});
  EXPECT_THAT(end.out, AllOf(HasSubstr("processors with"), HasSubstr("GiB of memory"),
                             HasSubstr("GiB free on this disk"), HasSubstr("ok  LibTorch 2.")));
}

TEST_F(Cli, DoctorNamesMissingPackagesAndHowToGetThem) {
  // A Debian system where nothing is installed.
  fs::create_directory(dir_ / "bin");
  write_text(dir_ / "bin/dpkg-query", "#!/bin/sh\nexit 1\n");
  fs::permissions(dir_ / "bin/dpkg-query", fs::perms::owner_all);
  const std::string path = (dir_ / "bin") + ":" + std::getenv("PATH");
  const Ended end = sluice({"doctor"}, 60, {{"PATH", path}});
  EXPECT_EQ(end.code, 1);
  for (const char* package : {"cmake", "libcaf-dev", "nlohmann-json3-dev"}) {
    EXPECT_THAT(end.out, HasSubstr("BAD " + std::string(package) +
                                   " is missing: a build needs it  -> scripts/setup.sh\n"));
  }
}

TEST_F(Cli, SetupCheckNamesAMissingLibTorchAndInstallsNothing) {
  fs::copy(SLUICE_SOURCE_DIR "/scripts", dir_ / "scripts");
  const Ended end = Child({dir_ / "scripts/setup.sh", "--check"}).wait();
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, HasSubstr("LibTorch 2."));
  EXPECT_FALSE(fs::exists(dir_ / ".deps"));
}

// --- completion ----------------------------------------------------------------------------------

class Completion : public Cli {
 protected:
  /// What bash would offer for the last of these words.
  static std::vector<std::string> offers(const std::string& words, int last) {
    const std::string script = "eval \"$(sluice completion bash)\"; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(last) +
                               "; _sluice; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const std::string path =
        fs::path(sluice_binary()).parent_path().string() + ":" + std::getenv("PATH");
    const Ended end = Child({"bash", "-c", script}, {{"PATH", path}}).wait();
    EXPECT_EQ(end.code, 0) << end.err;
    return lines(end.out);
  }
};

TEST_F(Completion, OffersCommandsRecipesAndFlags) {
  EXPECT_THAT(offers("sluice ''", 1), IsSupersetOf({"run", "list", "eval", "doctor", "ppo"}));
  EXPECT_THAT(offers("sluice do", 1), ElementsAre("doctor"));
  EXPECT_THAT(offers("sluice run pp", 2), ElementsAre("ppo"));
  EXPECT_THAT(offers("sluice run ppo --max", 3), ElementsAre("--max-steps", "--max-time"));
  EXPECT_THAT(offers("sluice ppo --dry", 2), ElementsAre("--dry-run"));
  EXPECT_THAT(offers("sluice eval x --ep", 3), ElementsAre("--episodes"));
}

TEST_F(Completion, OffersEnvironments) {
  EXPECT_THAT(offers("sluice run ppo --env Cart", 4), ElementsAre("CartPole-v1"));
}

TEST_F(Completion, ZshUsesTheScriptOfBash) {
  const Ended zsh = sluice({"completion", "zsh"});
  EXPECT_EQ(zsh.code, 0);
  EXPECT_THAT(zsh.out,
              AllOf(HasSubstr("bashcompinit"), HasSubstr(sluice({"completion", "bash"}).out)));
  EXPECT_EQ(sluice({"completion", "fish"}).code, 2);
}

}  // namespace
}  // namespace sluice::testing
