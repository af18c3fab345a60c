#include "apps/observe/run_dir.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class RunDirTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(root); }
  std::string root = fmt::format("{}run_dir_{}", ::testing::TempDir(), ::getpid());
  std::string path = root + "/x";
};

TEST_F(RunDirTest, CreatesItsFolders) {
  const auto run = RunDir::create(path + "/");
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_EQ(run->path(), path);
  EXPECT_EQ(run->config_path(), path + "/config.toml");
  EXPECT_TRUE(fs::is_directory(run->events_path()));
  EXPECT_TRUE(fs::is_directory(run->checkpoints_path()));
}

TEST_F(RunDirTest, KeepsTheIdentityItWasBegunWith) {
  {
    const auto run = RunDir::create(path);
    ASSERT_TRUE(run.ok());
    EXPECT_EQ(*run->run_id(0xfedcba9876543210), 0xfedcba9876543210);
    ASSERT_TRUE(write_file_atomic(run->config_path(), "").ok());
  }
  const auto again = RunDir::open(root + "/./x/");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again->run_id(7), 0xfedcba9876543210) << "whatever it is called now";
}

TEST_F(RunDirTest, AnIdentityThatCannotBeReadIsAnErrorThatNamesTheFile) {
  const auto run = RunDir::create(path);
  ASSERT_TRUE(run.ok());
  for (const char* text : {"", "mine\n", "12 34\n", "11112222333344445\n"}) {
    ASSERT_TRUE(write_file_atomic(run->id_path(), text).ok());
    const auto id = run->run_id(7);
    EXPECT_EQ(id.status().code(), Code::DataLoss) << text;
    EXPECT_THAT(id.status().message(), HasSubstr(run->id_path()));
    EXPECT_EQ(*read_file(run->id_path()), text) << "left as it is";
  }
}

TEST_F(RunDirTest, RefusesAnExistingRunAndSaysHowToGoOn) {
  fs::create_directories(path);
  ASSERT_TRUE(write_file_atomic(path + "/config.toml", "").ok());
  const auto run = RunDir::create(path);
  EXPECT_EQ(run.status().code(), Code::AlreadyExists);
  EXPECT_EQ(run.status().message(), fmt::format("run directory '{0}' exists; use --resume {0} to "
                                                "continue it or choose another with --out",
                                                path));
}

TEST_F(RunDirTest, AFolderThatIsNoRunIsNotOfferedToBeContinued) {
  fs::create_directories(path);
  ASSERT_TRUE(write_file_atomic(path + "/precious", "").ok());
  const auto run = RunDir::create(path);
  EXPECT_EQ(run.status().code(), Code::AlreadyExists);
  EXPECT_THAT(run.status().message(), HasSubstr("something else than a run"));
  EXPECT_THAT(run.status().message(), ::testing::Not(HasSubstr("--resume")));
}

TEST_F(RunDirTest, WhatARunKilledAtItsStartHasLeftIsInNobodysWay) {
  const auto killed = [&] {
    auto run = RunDir::create(path);
    return run.ok() && run->run_id(7).ok();
  };
  EXPECT_TRUE(killed());
  EXPECT_TRUE(killed());
}

TEST_F(RunDirTest, DiscardLeavesNothingOfTheRunAndEverythingElse) {
  {
    auto run = RunDir::create(path);
    ASSERT_TRUE(run.ok());
    for (const auto& file : {run->config_path(), run->log_path(), run->metrics_path(),
                             run->graph_path(), run->events_path() + "/x"}) {
      ASSERT_TRUE(write_file_atomic(file, "").ok());
    }
    run->discard();
  }
  EXPECT_FALSE(fs::exists(path));
  auto again = RunDir::create(path);
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(write_file_atomic(path + "/precious", "").ok());
  again->discard();
  EXPECT_TRUE(fs::exists(path + "/precious"));
}

TEST_F(RunDirTest, TakesAnEmptyFolder) {
  fs::create_directories(path);
  EXPECT_TRUE(RunDir::create(path).ok());
}

TEST_F(RunDirTest, OpensAnExistingRunOnly) {
  EXPECT_EQ(RunDir::open(path).status().code(), Code::NotFound);
  (void)RunDir::create(path);
  EXPECT_EQ(RunDir::open(path).status().code(), Code::NotFound);
  ASSERT_TRUE(write_file_atomic(path + "/config.toml", "").ok());
  EXPECT_TRUE(RunDir::open(path).ok());
}

TEST_F(RunDirTest, TwoCannotUseOneRun) {
  std::optional<RunDir> first;
  {
    auto created = RunDir::create(path);
    ASSERT_TRUE(created.ok());
    ASSERT_TRUE(write_file_atomic(created->config_path(), "").ok());
    first = *std::move(created);
  }
  const auto second = RunDir::open(path);
  EXPECT_EQ(second.status().code(), Code::FailedPrecondition);
  EXPECT_THAT(second.status().message(), HasSubstr("is in use by another process"));
  first.reset();
  EXPECT_TRUE(RunDir::open(path).ok());
}

TEST_F(RunDirTest, AFileInTheWayIsAnError) {
  fs::create_directories(root);
  ASSERT_TRUE(write_file_atomic(path, "").ok());
  EXPECT_FALSE(RunDir::create(path).ok());
}

TEST_F(RunDirTest, DefaultNamesNeverMeet) {
  const std::string first = RunDir::default_path(root, "ppo", 1'700'000'000);
  EXPECT_THAT(first, ::testing::MatchesRegex(".*/ppo-2023111[45]-[0-9]*"));
  fs::create_directories(first);
  const std::string second = RunDir::default_path(root, "ppo", 1'700'000'000);
  EXPECT_EQ(second, first + "-2");
  fs::create_directories(second);
  EXPECT_THAT(RunDir::default_path(root, "ppo", 1'700'000'000), EndsWith("-3"));
}

}  // namespace
}  // namespace sluice
