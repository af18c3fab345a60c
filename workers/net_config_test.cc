#include "workers/net_config.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

EnvSpec env_with(Schema observation, ActionSpec action) {
  return {"toy", std::move(observation), std::move(action), 0, std::nullopt};
}
const TensorSpec kFloats{"obs", DType::F32, {2, 3}};

TEST(NetConfig, SizesComeFromTheEnvironment) {
  const auto discrete = actor_critic_spec(env_with({kFloats}, ActionSpec::discrete(5)),
                                          {.hidden = {16, 8}, .activation = Activation::Relu});
  ASSERT_TRUE(discrete.ok());
  EXPECT_EQ(discrete->observation, 6);
  EXPECT_EQ(discrete->hidden, (std::vector<int64_t>{16, 8}));
  EXPECT_EQ(discrete->activation, Activation::Relu);
  EXPECT_EQ(discrete->head, Head::categorical(5));
  const auto box = actor_critic_spec(env_with({kFloats}, ActionSpec::box({2}, -1, 1)),
                                     {.initial_log_std = -0.5});
  ASSERT_TRUE(box.ok());
  EXPECT_EQ(box->head, Head::gaussian(2, -0.5F));
}

TEST(NetConfig, TwoObservationTensorsDoNotFit) {
  const auto spec = actor_critic_spec(
      env_with({kFloats, TensorSpec{"mask", DType::F32, {2}}}, ActionSpec::discrete(2)), {});
  ASSERT_EQ(spec.status().code(), Code::InvalidArgument);
  EXPECT_THAT(spec.status().message(),
              AllOf(HasSubstr("toy"), HasSubstr("mask"), HasSubstr("one float32 tensor")));
}

TEST(NetConfig, ObservationsOfAnotherTypeDoNotFit) {
  const auto spec = actor_critic_spec(
      env_with({TensorSpec{"pixels", DType::U8, {8, 8}}}, ActionSpec::discrete(2)), {});
  ASSERT_EQ(spec.status().code(), Code::InvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("pixels uint8[8, 8]"));
}

TEST(NetConfig, ImpossibleLayersNameTheEnvironment) {
  const auto spec = actor_critic_spec(env_with({kFloats}, ActionSpec::discrete(2)), {.hidden = {}});
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.status().message(), HasSubstr("toy"));
}

}  // namespace
}  // namespace sluice
