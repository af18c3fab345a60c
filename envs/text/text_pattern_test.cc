#include "envs/text/text_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

bool found(const std::string& pattern, std::string_view text) {
  const auto compiled = TextPattern::compile(pattern);
  return compiled.ok() && *compiled->found_in(text);
}

TEST(TextPattern, FindsAFormatOverLines) {
  const std::string format = "^<think>.*</think>\\s*<answer>.*</answer>\\s*$";
  EXPECT_TRUE(found(format, "<think>a\nb</think>\n<answer>3</answer>\n"));
  EXPECT_FALSE(found(format, "so <think>a</think><answer>3</answer>"));
  EXPECT_TRUE(found("b", "abc"));
  EXPECT_FALSE(found("^b", "abc"));
}

TEST(TextPattern, TakesTextThatIsNoUtf8) {
  EXPECT_TRUE(found("ok", "\xFF\xFE ok"));
  EXPECT_TRUE(found("^.$", "\xC3\xA9"));
}

TEST(TextPattern, SaysWhatIsWrongInAPattern) {
  EXPECT_THAT(TextPattern::compile("a(b").status().message(), HasSubstr("at byte 3: missing"));
  EXPECT_FALSE(TextPattern::compile(std::string(5000, 'a')).ok());
}

TEST(TextPattern, GivesUpWhereMatchingWouldTakeForEver) {
  const auto pattern = TextPattern::compile("^(a+)+$");
  ASSERT_TRUE(pattern.ok());
  EXPECT_EQ(pattern->found_in(std::string(5000, 'a') + "b").status().code(),
            Code::ResourceExhausted);
}

}  // namespace
}  // namespace sluice
