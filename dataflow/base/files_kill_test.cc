#include "dataflow/base/files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

namespace sluice {
namespace {

// A file is whole when its first byte, which decides its length, is repeated to the end.
std::string content(int number) {
  const auto letter = static_cast<char>('a' + number % 26);
  return std::string(1000 * static_cast<size_t>(1 + number % 26), letter);
}

TEST(AtomicFile, KillAtAnyMomentLeavesAWholeFile) {
  namespace fs = std::filesystem;
  const std::string folder = fmt::format("{}files_kill_{}", ::testing::TempDir(), ::getpid());
  fs::create_directories(folder);
  const std::string path = folder + "/state";
  ASSERT_TRUE(write_file_atomic(path, content(0)).ok());
  bool changed = false;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) {
        if (!write_file_atomic(path, content(i)).ok()) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(2'000 + 1'700 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed before it was killed";
    const auto bytes = read_file(path);
    ASSERT_TRUE(bytes.ok());
    ASSERT_FALSE(bytes->empty());
    ASSERT_EQ(*bytes, content((*bytes)[0] - 'a')) << "round " << round;
    changed = changed || (*bytes)[0] != 'a';
  }
  EXPECT_TRUE(changed) << "no kill fell between writes: the test proved nothing";
  fs::remove_all(folder);
}

}  // namespace
}  // namespace sluice
