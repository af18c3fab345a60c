#include "algorithms/llm/llm_algorithm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

LlmAlgorithm preset(const char* name) { return *algorithm_preset(name); }

TEST(AlgorithmPreset, EveryNameIsValidAndSurvivesToml) {
  EXPECT_GE(algorithm_names().size(), 20U);
  for (const std::string& name : algorithm_names()) {
    auto a = algorithm_preset(name);
    ASSERT_TRUE(a.ok()) << name;
    EXPECT_EQ(a->name, name);
    EXPECT_TRUE(a->check().ok()) << name << a->check().message();
    ConfigBinder b;
    a->bind(b);
    EXPECT_TRUE(b.check().ok()) << name << b.check().message();
  }
}

TEST(AlgorithmPreset, UnknownNamesAreRefusedWithTheNearest) {
  const auto a = algorithm_preset("grop");
  ASSERT_FALSE(a.ok());
  EXPECT_THAT(a.status().message(), HasSubstr("'grpo'"));
}

TEST(AlgorithmPreset, NamesMeanWhatTheirPapersSay) {
  EXPECT_EQ(preset("grpo").policy.aggregation, Aggregation::SequenceMeanTokenMean);
  EXPECT_EQ(preset("drgrpo").policy.aggregation, Aggregation::SequenceMeanTokenScale);
  EXPECT_EQ(preset("dapo").policy.clip_high, .28);
  EXPECT_TRUE(preset("dapo").dynamic_sampling);
  EXPECT_EQ(preset("gspo").policy.clip_low, 3e-4);
  EXPECT_EQ(preset("cispo").policy.clip_high, 4);
  EXPECT_EQ(preset("gmpo").policy.clip_high, .4);
  EXPECT_TRUE(preset("reinforce++").advantage.whiten);
  EXPECT_TRUE(preset("remax").needs_greedy_sample());
  EXPECT_TRUE(preset("ppo").needs_critic());
  EXPECT_TRUE(preset("rloo").needs_reference());
  EXPECT_TRUE(preset("decoupled-grpo").needs_behaviour());
  EXPECT_TRUE(preset("dppo").needs_behaviour());
  EXPECT_FALSE(preset("grpo").needs_critic() || preset("grpo").needs_reference() ||
               preset("grpo").needs_behaviour() || preset("grpo").needs_entropy());
}

TEST(LlmAlgorithm, RefusesAGroupOfOneWhereSamplesAreCompared) {
  LlmAlgorithm a = preset("rloo");
  a.group_size = 1;
  EXPECT_THAT(a.check().message(), HasSubstr("group_size = 1: rloo"));
  a = preset("ppo");
  EXPECT_TRUE(a.check().ok());
}

TEST(LlmAlgorithm, RefusesKlInRewardAndLossAtOnceAndListsAllProblems) {
  LlmAlgorithm a = preset("grpo");
  a.advantage.kl_coef = a.policy.kl_coef = .1;
  a.policy.dual_clip = .5;
  EXPECT_THAT(a.check().message(), HasSubstr("not in both"));
  EXPECT_THAT(a.check().message(), HasSubstr("dual_clip = 0.5"));
}

TEST(LlmAlgorithm, RefusesATargetForAKlThatIsOff) {
  LlmAlgorithm a = preset("grpo");
  a.advantage.kl_target = .1;
  EXPECT_THAT(a.check().message(), HasSubstr("kl_target"));
}

}  // namespace
}  // namespace sluice
