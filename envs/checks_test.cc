#include "envs/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(CheckSpec, ListsEveryFaultAtOnce) {
  const EnvSpec spec{"bad",
                     {{"obs", DType::F32, {0}}, {"obs", DType::U8, {2}}},
                     ActionSpec::box({1}, 1, -1),
                     -1,
                     std::nullopt};
  const Status status = check_spec(spec);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  for (const char* part : {"'bad'", "'obs' twice", "empty observation obs float32[0]", "[1, -1]",
                           "max_episode_steps -1"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
}

TEST(CheckSpec, NeedsObservationsAndActions) {
  const EnvSpec spec{"bad", {}, ActionSpec::discrete(0), 0, std::nullopt};
  EXPECT_THAT(check_spec(spec).message(), HasSubstr("0 observation tensors"));
  EXPECT_THAT(check_spec(spec).message(), HasSubstr("0 discrete actions"));
}

}  // namespace
}  // namespace sluice
