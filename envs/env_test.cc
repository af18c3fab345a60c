#include "envs/env.h"

#include "envs/dummy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

class StepAll : public testing::Test {
 protected:
  static constexpr size_t kRows = 3;

  void SetUp() override {
    ObservationRow row(envs_[0].spec().observation);
    for (size_t i = 0; i < kRows; ++i) {
      ASSERT_TRUE(envs_[i].reset(i, row.at({&column_, 1}, static_cast<int64_t>(i))).ok());
    }
  }

  DummyEnv envs_[kRows];
  Env* all_[kRows] = {&envs_[0], &envs_[1], &envs_[2]};
  float obs_[kRows][4] = {};
  void* column_ = obs_;
  int64_t actions_[kRows] = {0, 1, 0};
  Transition out_[kRows];
};

TEST_F(StepAll, DoesToEveryRowWhatItsOwnStepWould) {
  ASSERT_TRUE(step_all(all_, actions_, {&column_, 1}, out_).ok());
  for (size_t i = 0; i < kRows; ++i) {
    DummyEnv alone;
    float want[4];
    void* slice = want;
    Transition transition;
    ASSERT_TRUE(alone.reset(i, {&slice, 1}).ok());
    ASSERT_TRUE(alone.step(&actions_[i], {&slice, 1}, transition).ok());
    EXPECT_EQ(std::memcmp(want, obs_[i], sizeof(want)), 0) << "row " << i;
    EXPECT_EQ(out_[i].reward, transition.reward);
    EXPECT_EQ(out_[i].terminated, transition.terminated);
  }
}

// [test]
TEST(DummyEnv, EndsAtTheTargetWithARewardOfOne) {
  DummyEnv env;
  float obs[4];  // position, target, way to go, time used
  void* slice = obs;
  ASSERT_TRUE(env.reset(/*seed=*/1, {&slice, 1}).ok());
  const int64_t towards = obs[1] > 0 ? 1 : 0;
  Transition t;
  for (auto way = static_cast<int64_t>(std::abs(obs[1])); way > 0; --way) {
    EXPECT_FALSE(t.terminated);
    ASSERT_TRUE(env.step(&towards, {&slice, 1}, t).ok());
  }
  EXPECT_TRUE(t.terminated);
  EXPECT_EQ(t.reward, 1);
  EXPECT_EQ(obs[0], obs[1]);
}
// [/test]

TEST_F(StepAll, NamesTheRowThatFailedAndStopsThere) {
  actions_[1] = 9;
  const std::string last = envs_[2].save();
  const Status status = step_all(all_, actions_, {&column_, 1}, out_);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("environment 1: dummy: action 9"));
  EXPECT_EQ(envs_[2].save(), last);
  EXPECT_NE(obs_[0][0], 0);  // the row before has stepped
}

TEST_F(StepAll, RefusesColumnsThatDoNotFit) {
  void* two[] = {obs_, obs_};
  EXPECT_EQ(step_all(all_, actions_, two, out_).code(), Code::InvalidArgument);
  EXPECT_EQ(step_all(all_, actions_, {&column_, 1}, {out_, 2}).code(), Code::InvalidArgument);
  EXPECT_TRUE(step_all({}, nullptr, {}, {}).ok());
}

TEST(ObservationRow, FindsTheSlicesOfEveryColumn) {
  const Schema schema{{"image", DType::U8, {3, 5}}, {"speed", DType::F64, {2}}};
  ObservationRow row(schema);
  char image[60];
  double speed[8];
  void* columns[] = {image, speed};
  const ObservationOut slices = row.at(columns, 3);
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0], image + 45);
  EXPECT_EQ(slices[1], speed + 6);
}

}  // namespace
}  // namespace sluice
