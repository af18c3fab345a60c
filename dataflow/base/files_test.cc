#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  [[nodiscard]] int64_t entries() const {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  std::string folder = fmt::format("{}files_test_{}", ::testing::TempDir(), ::getpid());
  std::string path = folder + "/a";
};

TEST_F(Files, ReadsBackWhatWasWritten) {
  const std::string bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(write_file_atomic(path, bytes).ok());
  const auto read = read_file(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, bytes);
  ASSERT_TRUE(write_file_atomic(path, "").ok());
  EXPECT_EQ(*read_file(path), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, ReadsFilesThatDoNotTellTheirSize) {
  const auto read = read_file("/proc/self/status");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(*read, HasSubstr("Name:"));
}

TEST_F(Files, MissingFileIsNotFoundAndNamed) {
  const Status status = read_file(path).status();
  EXPECT_EQ(status.code(), Code::NotFound);
  EXPECT_THAT(status.message(), HasSubstr(path));
}

TEST_F(Files, WritingIntoAMissingFolderIsNotFound) {
  EXPECT_EQ(write_file_atomic(folder + "/none/a", "x").code(), Code::NotFound);
}

TEST_F(Files, ErrnoDecidesTheCode) {
  EXPECT_EQ(errno_status(ENOSPC, "x").code(), Code::ResourceExhausted);
  EXPECT_EQ(errno_status(EDQUOT, "x").code(), Code::ResourceExhausted);
  EXPECT_EQ(errno_status(EACCES, "x").code(), Code::FailedPrecondition);
  EXPECT_EQ(errno_status(EIO, "x").code(), Code::Internal);
  EXPECT_EQ(errno_status(ENOSPC, "here").message(), "here: No space left on device");
}

TEST_F(Files, FullDeviceIsResourceExhausted) {
  EXPECT_EQ(write_file_synced("/dev/full", "x").code(), Code::ResourceExhausted);
}

TEST_F(Files, AWriteThatDoesNotFitKeepsTheOldFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_file_atomic(path, "old").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = write_file_atomic(path, std::string(10'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::ResourceExhausted) << status.to_string();
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace sluice
