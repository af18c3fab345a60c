#include "envs/registry.h"

#include "envs/dummy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(Registry, SuggestsTheNearestAndListsTheKnown) {
  const auto env = make_env("CartPol-v1");
  ASSERT_EQ(env.status().code(), Code::NotFound);
  EXPECT_THAT(env.status().message(), HasSubstr("'CartPol-v1', did you mean 'CartPole-v1'?"));
  EXPECT_THAT(env.status().message(), HasSubstr("Known: CartPole-v1, Pendulum-v1"));
  EXPECT_THAT(env_spec("zzzzzzzzzzzzzzz").status().message(), HasSubstr("'. Known: CartPole-v1"));
}

TEST(Registry, MakesEnvironmentsThatUsersRegister) {
  ASSERT_TRUE(register_env("mine", [] { return std::make_unique<DummyEnv>("mine"); }).ok());
  const auto spec = env_spec("mine");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->name, "mine");
  EXPECT_THAT(env_names(), testing::Contains("mine"));
  EXPECT_EQ(register_env("mine", [] { return nullptr; }).code(), Code::AlreadyExists);
  EXPECT_EQ(env_spec("mine")->name, "mine");
}

TEST(Registry, RefusesNamesAndFactoriesThatCannotWork) {
  auto factory = [] { return std::make_unique<DummyEnv>(); };
  EXPECT_EQ(register_env("", factory).code(), Code::InvalidArgument);
  EXPECT_EQ(register_env("a:b", factory).code(), Code::InvalidArgument);
  EXPECT_EQ(register_env("empty", EnvFactory{}).code(), Code::InvalidArgument);
  EXPECT_EQ(make_env("empty").status().code(), Code::NotFound);
  ASSERT_TRUE(register_env("nothing", [] { return nullptr; }).ok());
  EXPECT_EQ(make_env("nothing").status().code(), Code::Internal);
}

TEST(Registry, ReportsAnInconsistentSpec) {
  ASSERT_TRUE(register_env("nameless", [] { return std::make_unique<DummyEnv>(""); }).ok());
  EXPECT_EQ(env_spec("nameless").status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace sluice
