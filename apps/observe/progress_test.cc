#include "apps/observe/progress.h"

#include "dataflow/base/log.h"
#include "dataflow/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {
namespace {

using ::testing::HasSubstr;

ProgressState example() {
  ProgressState state;
  state.steps = 1'250'000;
  state.steps_per_second = 83'120;
  state.episode_return = 475.04;
  state.staleness = 0.5;
  state.version = "v12.1-0123abcd";
  state.eta_seconds = 64.2;
  state.extra = "loss 0.1";
  return state;
}

TEST(FormatProgress, ShowsEveryPart) {
  EXPECT_EQ(format_progress(example(), 0),
            "1.25M steps  83.12k/s  return 475.0  staleness 0.5  v12.1-0123abcd  eta 1m05s  "
            "loss 0.1");
}

TEST(FormatProgress, LeavesOutWhatIsUnknown) { EXPECT_EQ(format_progress({}, 0), "0 steps  0/s"); }

TEST(FormatProgress, IsCutToTheWidth) {
  EXPECT_EQ(format_progress(example(), 11), "1.25M steps");
  ProgressState state;
  state.extra = "\xc3\xa4\xc3\xa4";
  EXPECT_EQ(format_progress(state, 15), "0 steps  0/s  ");
}

TEST(FormatProgress, TellsTimesAndSizes) {
  const auto eta = [](double seconds) {
    ProgressState state;
    state.eta_seconds = seconds;
    return format_progress(state, 0).substr(std::string("0 steps  0/s  eta ").size());
  };
  EXPECT_EQ(eta(0), "0s");
  EXPECT_EQ(eta(59), "59s");
  EXPECT_EQ(eta(3599.5), "1h00m");
  EXPECT_EQ(eta(7260), "2h01m");
  EXPECT_EQ(eta(1.0 / 0.0), "?");
  ProgressState state;
  state.steps = 999;
  EXPECT_THAT(format_progress(state, 0), HasSubstr("999 steps"));
  state.steps = 12'345'678'901;
  EXPECT_THAT(format_progress(state, 0), HasSubstr("12.35G steps"));
}

class ProgressTest : public ::testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(out); }
  [[nodiscard]] std::string text() const {
    std::fflush(out);
    std::string bytes(static_cast<size_t>(std::ftell(out)), '\0');
    std::rewind(out);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), out));
    std::fseek(out, 0, SEEK_END);
    return bytes;
  }

  std::FILE* out = std::tmpfile();
  VirtualClock clock;
  ProgressState state;
};

TEST_F(ProgressTest, PipedOutputGetsAPlainLineEveryFewSeconds) {
  Progress progress(out, {false, 80, 5 * kSecond}, clock);
  for (int second = 0; second < 11; ++second) {
    state.steps = second;
    progress.update(state);
    clock.advance(kSecond);
  }
  EXPECT_EQ(text(), "0 steps  0/s\n5 steps  0/s\n10 steps  0/s\n");
  state.steps = 99;
  progress.finish(state);
  EXPECT_THAT(text(), ::testing::EndsWith("\n99 steps  0/s\n"));
}

TEST_F(ProgressTest, ATerminalIsRedrawnTenTimesASecondAtMost) {
  Progress progress(out, {true, 80, 5 * kSecond}, clock);
  for (int i = 0; i < 100; ++i) {
    progress.update(state);
    clock.advance(10 * kMillisecond);
  }
  const std::string shown = text();
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\r'), 10);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 0);
  progress.finish(state);
  EXPECT_THAT(text(), ::testing::EndsWith("\r0 steps  0/s\x1b[K\n"));
}

TEST_F(ProgressTest, TheLineStepsAsideForALogLine) {
  Progress progress(out, {true, 80, 5 * kSecond}, clock);
  progress.update(state);
  ::testing::internal::CaptureStderr();
  log(LogLevel::Warning, "look");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text(), "\r0 steps  0/s\x1b[K\r\x1b[K\r0 steps  0/s\x1b[K");
}

TEST_F(ProgressTest, PlainOutputIsNotTouchedByLogLines) {
  Progress progress(out, {false, 80, 5 * kSecond}, clock);
  progress.update(state);
  ::testing::internal::CaptureStderr();
  log(LogLevel::Warning, "look");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text(), "0 steps  0/s\n");
}

TEST_F(ProgressTest, TheLineIsShorterThanTheTerminal) {
  Progress progress(out, {true, 8, 5 * kSecond}, clock);
  progress.update(state);
  EXPECT_EQ(text(), "\r0 steps\x1b[K");
}

TEST_F(ProgressTest, OnlyOneMayLiveOnATerminal) {
  const Progress progress(out, {true, 80, 5 * kSecond}, clock);
  EXPECT_THROW(Progress(out, {true, 80, 5 * kSecond}, clock), CheckFailure);
}

TEST_F(ProgressTest, AFileIsNotATerminal) { EXPECT_FALSE(Progress::detect(out).terminal); }

TEST(ProgressLine, NobodyToReadItIsNoError) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);  // as standard error
  VirtualClock clock;
  for (const bool terminal : {false, true}) {
    Progress progress(full, {terminal, 80, 5 * kSecond}, clock);
    EXPECT_NO_THROW(progress.update({}));
    EXPECT_NO_THROW(progress.finish({}));
  }
  std::fclose(full);
}

}  // namespace
}  // namespace sluice
