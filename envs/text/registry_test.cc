#include "envs/text/registry.h"

#include "envs/text/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(TextTaskRegistry, NamesTheNearestAndListsTheKnown) {
  const auto task = make_text_task("arithmetics");
  ASSERT_EQ(task.status().code(), Code::NotFound);
  EXPECT_THAT(task.status().message(), HasSubstr("'arithmetics', did you mean 'arithmetic'?"));
  EXPECT_THAT(make_text_task("zzzzzzzzzzzzzzz").status().message(),
              HasSubstr("'. Known: arithmetic"));
}

TEST(TextTaskRegistry, SaysWhichTaskRefusedItsOptions) {
  EXPECT_THAT(make_text_task("arithmetic", {0, 77}).status().message(),
              HasSubstr("task 'arithmetic': difficulty is 77"));
}

TEST(TextTaskRegistry, MakesTasksThatUsersRegister) {
  ASSERT_TRUE(register_text_task("mine", ArithmeticTask::make).ok());
  EXPECT_EQ(register_text_task("mine", ArithmeticTask::make).code(), Code::AlreadyExists);
  EXPECT_TRUE(make_text_task("mine").ok());
  EXPECT_THAT(text_task_names(), testing::Contains("mine"));
  EXPECT_EQ(register_text_task("", ArithmeticTask::make).code(), Code::InvalidArgument);
  EXPECT_EQ(register_text_task("empty", {}).code(), Code::InvalidArgument);
  ASSERT_TRUE(register_text_task("nothing", [](const TextTaskOptions&) {
                return std::unique_ptr<TextTask>();
              }).ok());
  EXPECT_EQ(make_text_task("nothing").status().code(), Code::Internal);
}

}  // namespace
}  // namespace sluice
