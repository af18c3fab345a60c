#include "algorithms/llm/policy_loss_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(PolicyLossConfig, AbsoluteCispoBoundBelowOneIsRefused) {
  PolicyLossConfig c;
  c.loss = PolicyLoss::Cispo;
  EXPECT_TRUE(c.check().ok());  // relative
  c.clip_bound = ClipBound::Absolute;
  EXPECT_THAT(c.check().message(), HasSubstr("clip_high = 0.2 with clip_bound = absolute"));
  c.clip_high = 5;
  EXPECT_TRUE(c.check().ok());
}

TEST(PolicyLossConfig, AllProblemsAreListed) {
  PolicyLossConfig c;
  c.dual_clip = .5;
  c.clip_low = 1.5;
  c.correction.rule = CorrectionRule::Tis;
  c.correction.low = 1;
  c.correction.high = .5;
  const Status status = c.check();
  EXPECT_THAT(status.message(), HasSubstr("dual_clip = 0.5"));
  EXPECT_THAT(status.message(), HasSubstr("clip_low = 1.5"));
  EXPECT_THAT(status.message(), HasSubstr("low 1 is not below high 0.5"));
}

TEST(PolicyLossConfig, DppoRefusesASecondCorrection) {
  PolicyLossConfig c;
  c.loss = PolicyLoss::Dppo;
  c.correction.rule = CorrectionRule::Tis;
  EXPECT_THAT(c.check().message(), HasSubstr("twice"));
}

TEST(PolicyLossConfig, BindsEveryNameAndKeepsItThroughToml) {
  PolicyLossConfig c;
  ConfigBinder b;
  c.bind(b);
  ASSERT_TRUE(b.set("loss=sapo", "test").ok());
  ASSERT_TRUE(b.set("aggregation=seq-mean-token-sum-norm", "test").ok());
  ASSERT_TRUE(b.set("correction.rule=icepop", "test").ok());
  ASSERT_TRUE(b.set("kl_estimator=k3+", "test").ok());
  EXPECT_EQ(c.loss, PolicyLoss::Sapo);
  EXPECT_EQ(c.aggregation, Aggregation::SequenceMeanTokenScale);
  EXPECT_EQ(c.correction.rule, CorrectionRule::IcePop);
  EXPECT_EQ(c.kl_estimator, KlEstimator::K3Plus);
  EXPECT_FALSE(b.set("clip_low=-1", "test").ok());
  EXPECT_THAT(b.set("clip_hihg=0.3", "test").message(), HasSubstr("clip_high"));
}

TEST(CorrectionConfig, EveryRuleHasItsOwnBounds) {
  CorrectionConfig c;
  const auto bounds = [&](CorrectionRule rule) {
    c.rule = rule;
    return std::pair{c.lower(), c.upper()};
  };
  EXPECT_EQ(bounds(CorrectionRule::Tis), std::pair(0., 2.));
  EXPECT_EQ(bounds(CorrectionRule::SequenceTis), std::pair(0., 5.));
  EXPECT_EQ(bounds(CorrectionRule::IcePop), std::pair(.5, 5.));
  EXPECT_EQ(bounds(CorrectionRule::Mis), std::pair(0., 3.));
  EXPECT_EQ(bounds(CorrectionRule::Decoupled), std::pair(0., 5.));
  c.low = .25;
  c.high = 4;
  EXPECT_EQ(bounds(CorrectionRule::IcePop), std::pair(.25, 4.));
}

}  // namespace
}  // namespace sluice
