#include "apps/observe/checkpoint_store.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  static std::map<std::string, Snapshot> state(int64_t step) {
    std::map<std::string, Snapshot> workers;
    workers["rollout/0"].put_value("step", step);
    workers["rollout 0"].put("text", "other");
    workers["trainer"].put("weights", std::string(2000, 'w'));
    return workers;
  }
  Status save(int64_t step) {
    return store.save(step, state(step), {{"version", fmt::format("v{}", step)}});
  }
  [[nodiscard]] int64_t entries() const {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  std::string folder = fmt::format("{}checkpoints_{}", ::testing::TempDir(), ::getpid());
  CheckpointStore store{folder, "ppo"};
};

TEST_F(CheckpointStoreTest, LoadsBackWhatWasSaved) {
  ASSERT_TRUE(save(12).ok());
  EXPECT_TRUE(fs::exists(folder + "/step-000000012/rollout%2F0.snapshot"));
  const auto loaded = store.load_latest();
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->step, 12);
  EXPECT_EQ(loaded->info.at("version"), "v12");
  EXPECT_EQ(loaded->workers.size(), 3U);
  for (const auto& [name, snapshot] : state(12)) {
    EXPECT_EQ(loaded->workers.at(name).blobs(), snapshot.blobs()) << name;
  }
}

TEST_F(CheckpointStoreTest, AFolderThatWasDeletedDoesNotComeBack) {
  fs::remove_all(folder);
  EXPECT_FALSE(save(1).ok());
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(CheckpointStoreTest, NoneIsNotFound) {
  EXPECT_EQ(store.load_latest().status().code(), Code::NotFound);
  EXPECT_EQ(store.load(folder + "/step-000000001").status().code(), Code::NotFound);
}

TEST_F(CheckpointStoreTest, KeepsTheNewestFew) {
  for (const int64_t step : {1, 2, 10, 9, 11}) ASSERT_TRUE(save(step).ok());
  EXPECT_EQ(store.list().size(), 3U);
  EXPECT_EQ(entries(), 3);
  EXPECT_THAT(store.list().back(), HasSubstr("step-000000009"));
  EXPECT_EQ(store.load_latest()->step, 11);
}

TEST_F(CheckpointStoreTest, TheSameStepIsReplaced) {
  ASSERT_TRUE(save(5).ok());
  ASSERT_TRUE(store.save(5, {}, {{"version", "again"}}).ok());
  EXPECT_EQ(store.load_latest()->info.at("version"), "again");
  EXPECT_EQ(entries(), 1);
}

TEST_F(CheckpointStoreTest, ADamagedNewestIsPassedOverWithAWarning) {
  ASSERT_TRUE(save(1).ok());
  for (const std::string file : {"trainer.snapshot", "manifest.json"}) {
    ASSERT_TRUE(save(2).ok());
    const std::string path = folder + "/step-000000002/" + file;
    const std::string good = *read_file(path);
    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
    for (const std::string& bad : {flipped, good.substr(0, good.size() / 2), std::string()}) {
      ASSERT_TRUE(write_file_synced(path, bad).ok());
      ::testing::internal::CaptureStderr();
      const auto loaded = store.load_latest();
      const std::string log = ::testing::internal::GetCapturedStderr();
      ASSERT_TRUE(loaded.ok());
      EXPECT_EQ(loaded->step, 1);
      EXPECT_THAT(log, HasSubstr(path));
      EXPECT_THAT(log, HasSubstr("is damaged"));
    }
    fs::remove(path);
    EXPECT_EQ(store.load(folder + "/step-000000002").status().code(), Code::DataLoss);
  }
}

TEST_F(CheckpointStoreTest, EveryFlippedByteOfTheManifestIsSeen) {
  ASSERT_TRUE(save(2).ok());
  const std::string path = folder + "/step-000000002/manifest.json";
  const std::string good = *read_file(path);
  for (size_t i = 0; i < good.size(); ++i) {
    // White space between the values carries nothing.
    if (std::isspace(static_cast<unsigned char>(good[i])) != 0) continue;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    // Without the syncs of write_file_synced, which would take seconds.
    std::ofstream(path, std::ios::binary) << bad;
    ASSERT_EQ(store.load(folder + "/step-000000002").status().code(), Code::DataLoss)
        << i << ": " << bad;
  }
}

TEST_F(CheckpointStoreTest, AForeignOneIsRefusedByName) {
  ASSERT_TRUE(save(2).ok());
  const Status status = CheckpointStore(folder, "dqn").load_latest().status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("is of graph \"ppo\", not of 'dqn'"));
}

TEST_F(CheckpointStoreTest, AFullDiskKeepsTheOldOnesAndLeavesNothing) {
  ASSERT_TRUE(save(1).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = save(2);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::ResourceExhausted) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("checkpoint of step 2 was not saved"));
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(store.load_latest()->step, 1);
}

TEST_F(CheckpointStoreTest, SavingSweepsWhatAKilledProcessLeft) {
  fs::create_directories(folder + "/step-000000007.tmp");
  EXPECT_TRUE(store.list().empty());
  ASSERT_TRUE(save(8).ok());
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace sluice
