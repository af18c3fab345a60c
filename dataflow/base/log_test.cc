#include "dataflow/base/log.h"

#include "dataflow/base/files.h"
#include "dataflow/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    log_to_stderr(LogLevel::Warning);
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

/// What was written to a temporary file so far.
std::string written(std::FILE* out) {
  std::fflush(out);
  std::string bytes(static_cast<size_t>(std::ftell(out)), '\0');
  std::rewind(out);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), out));
  std::fseek(out, 0, SEEK_END);
  return bytes;
}

class StatusLineTest : public LogTest {
 protected:
  ~StatusLineTest() override { std::fclose(out); }
  std::FILE* out = std::tmpfile();
};

TEST_F(StatusLineTest, StepsAsideForALineOnTheTerminalOnly) {
  StatusLine line(out);
  line.show("half");
  EXPECT_EQ(written(out), "\rhalf\x1b[K");
  log(LogLevel::Info, "not shown");
  EXPECT_EQ(written(out), "\rhalf\x1b[K");
  ::testing::internal::CaptureStderr();
  log(LogLevel::Warning, "shown");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("warning shown\n"));
  EXPECT_EQ(written(out), "\rhalf\x1b[K\r\x1b[K\rhalf\x1b[K");
}

TEST_F(StatusLineTest, IsWipedWithAnEmptyText) {
  StatusLine line(out);
  line.show("half");
  line.show("");
  EXPECT_EQ(written(out), "\rhalf\x1b[K\r\x1b[K");
}

TEST_F(StatusLineTest, LeavesItsTextAndALogLineComesBelow) {
  {
    StatusLine line(out);
    line.show("done");
    line.end();
    EXPECT_EQ(written(out), "\rdone\x1b[K\n");
    line.show("more");
  }
  const std::string before = written(out);
  EXPECT_THAT(before, ::testing::EndsWith("\rmore\x1b[K\n"));
  ::testing::internal::CaptureStderr();
  log(LogLevel::Warning, "shown");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(written(out), before) << "nobody shows a status line any more";
}

TEST_F(StatusLineTest, OnlyOneMayLive) {
  { const StatusLine first(out); }
  const StatusLine line(out);
  EXPECT_THROW(StatusLine second(out), CheckFailure);
}

TEST_F(StatusLineTest, IsNeverDrawnInTheMiddleOfALogLine) {
  ::testing::internal::CaptureStderr();
  {
    StatusLine line(stderr);
    std::thread other([] {
      for (int i = 0; i < 200; ++i) log(LogLevel::Warning, "log");
    });
    for (int i = 0; i < 200; ++i) line.show("status");
    other.join();
  }
  std::string text = ::testing::internal::GetCapturedStderr();
  for (const std::string gone : {"\r\x1b[K", "\rstatus\x1b[K"}) {
    for (size_t at; (at = text.find(gone)) != std::string::npos;) text.erase(at, gone.size());
  }
  int logged = 0;
  for (size_t at = 0; (at = text.find("warning log\n", at)) != std::string::npos; ++at) ++logged;
  EXPECT_EQ(logged, 200);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 0) << text;
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
