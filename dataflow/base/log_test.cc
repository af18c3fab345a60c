#include "dataflow/base/log.h"

#include "dataflow/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> calls;

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    log_to_stderr(LogLevel::Warning);
    log_hooks(nullptr, nullptr);
    open_log_file("");
    std::remove(path.c_str());
  }
  std::string path = fmt::format("{}log_test_{}.txt", ::testing::TempDir(), ::getpid());
};

TEST_F(LogTest, OnlyWarningsAndErrorsReachTheTerminalByDefault) {
  ::testing::internal::CaptureStderr();
  log(LogLevel::Info, "quiet {}", 1);
  log(LogLevel::Warning, "loud {}", 2);
  log(LogLevel::Error, "louder {}", 3);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_THAT(text, HasSubstr("warning loud 2\n"));
  EXPECT_THAT(text, HasSubstr("error louder 3\n"));
}

TEST_F(LogTest, VerboseShowsMore) {
  log_to_stderr(LogLevel::Debug);
  ::testing::internal::CaptureStderr();
  log(LogLevel::Debug, "detail");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("debug detail\n"));
}

TEST_F(LogTest, FileGetsEveryLineFromInfoUpAtOnce) {
  ASSERT_TRUE(open_log_file(path));
  ::testing::internal::CaptureStderr();
  log(LogLevel::Debug, "detail");
  log(LogLevel::Info, "news");
  log(LogLevel::Warning, "trouble {{}}");
  ::testing::internal::GetCapturedStderr();
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, Not(HasSubstr("detail")));
  EXPECT_THAT(*text, HasSubstr(" info news\n"));
  EXPECT_THAT(*text, HasSubstr(" warning trouble {}\n"));
}

TEST_F(LogTest, ReopeningAppends) {
  ASSERT_TRUE(open_log_file(path));
  log(LogLevel::Info, "first");
  ASSERT_TRUE(open_log_file(path));
  log(LogLevel::Info, "second");
  EXPECT_THAT(*read_file(path), HasSubstr("first\n"));
  EXPECT_THAT(*read_file(path), HasSubstr("second\n"));
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsReported) { EXPECT_FALSE(open_log_file("/proc/none/x")); }

TEST_F(LogTest, HooksFrameALineOnTheTerminalOnly) {
  calls.clear();
  log_hooks([] { calls.emplace_back("before"); }, [] { calls.emplace_back("after"); });
  log(LogLevel::Info, "not shown");
  EXPECT_TRUE(calls.empty());
  ::testing::internal::CaptureStderr();
  log(LogLevel::Warning, "shown");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(calls, (std::vector<std::string>{"before", "after"}));
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  ASSERT_TRUE(open_log_file(path));
  constexpr int kThreads = 4;
  constexpr int kLines = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kLines; ++i) log(LogLevel::Info, "line-of-text");
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string text = *read_file(path);
  int whole = 0;
  for (size_t at = 0; (at = text.find(" info line-of-text\n", at)) != std::string::npos; ++at) {
    ++whole;
  }
  EXPECT_EQ(whole, kThreads * kLines);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kThreads * kLines);
}

}  // namespace
}  // namespace sluice
