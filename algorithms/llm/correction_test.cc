#include "algorithms/llm/correction.h"

#include "algorithms/llm/token_batch_support.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

CorrectionConfig with(CorrectionRule rule) {
  CorrectionConfig c;
  c.rule = rule;
  return c;
}

// On policy the gradient of a token is -A times its weight, 0 where it is left out. Returns the
// weights of the tokens of one sequence.
std::vector<double> weights(const CorrectionConfig& config, const std::vector<double>& old,
                            const std::vector<double>& behaviour, double advantage = -1) {
  PolicyLossConfig c;
  c.aggregation = Aggregation::SequenceMeanTokenSum;
  c.correction = config;
  LossProbe p;
  p.logprob = p.old = old;
  p.behaviour = behaviour;
  p.advantage.assign(old.size(), advantage);
  p.run(c);
  std::vector<double> result;
  for (const double g : p.gradient) result.push_back(g / -advantage);
  return result;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-7) << i;
}

TEST(Correction, TisCapsTheTokenWeight) {
  expect_near(weights(with(CorrectionRule::Tis), {-1, -1, -3}, {-3, -1.2, -1}),
              {2, 1.221403, std::exp(-2)});
}

TEST(Correction, TisWithALowerBoundRaisesSmallWeights) {
  CorrectionConfig c = with(CorrectionRule::Tis);
  c.low = .5;
  c.high = 5;
  expect_near(weights(c, {-3, -1}, {-1, -4}), {.5, 5});
}

TEST(Correction, IcePopDropsTokensOutsideTheBand) {
  expect_near(weights(with(CorrectionRule::IcePop), {-1, -1, -3}, {-3, -1.2, -1}),
              {0, 1.221403, 0});
}

TEST(Correction, SequenceWeightsMultiplyOverTheSequence) {
  const std::vector<double> old{-1, -1, -1}, behaviour{-1.1, -.8, -1.4};  // .1, -.2, .4
  expect_near(weights(with(CorrectionRule::SequenceTis), old, behaviour),
              {1.349859, 1.349859, 1.349859});
  CorrectionConfig c = with(CorrectionRule::SequenceTis);
  c.high = 1.2;
  expect_near(weights(c, old, behaviour), {1.2, 1.2, 1.2});
}

TEST(Correction, MisDropsWholeSequences) {
  CorrectionConfig c = with(CorrectionRule::Mis);
  expect_near(weights(c, {-1, -1, -1}, {-1.1, -.8, -1.4}), {1.349859, 1.349859, 1.349859});
  expect_near(weights(c, {-1, -1}, {-2, -1.2}), {0, 0});  // e^1.2 > 3
}

TEST(Correction, GeometricMaskReadsTheMeanOverTheSequence) {
  const std::vector<double> old{-1, -1, -1}, behaviour{-1.1, -.8, -1.4};  // mean .1: 1.105171
  CorrectionConfig c;
  c.geometric_low = .9;
  c.geometric_high = 1.1052;
  expect_near(weights(c, old, behaviour), {1, 1, 1});
  c.geometric_high = 1.1051;
  expect_near(weights(c, old, behaviour), {0, 0, 0});
  c.geometric_low = 1.1052;
  c.geometric_high = 2;
  expect_near(weights(c, old, behaviour), {0, 0, 0});
}

TEST(Correction, OpsmDropsDriftedSequencesWithANegativeAdvantage) {
  PolicyLossConfig c;
  c.aggregation = Aggregation::SequenceMeanTokenSum;
  c.loss = PolicyLoss::Unclipped;
  c.correction.opsm_delta = .1;
  LossProbe p;
  p.sequence = {0, 0, 1, 1, 2, 2};
  p.old = {-1, -1, -1, -1, -1, -1};
  p.logprob = {-1.3, -1, -1.3, -1, -1.1, -1};  // drifts .15, .15, .05
  p.advantage = {-1, -1, 1, 1, -1, -1};
  p.run(c);
  EXPECT_EQ(p.gradient[0], 0);
  EXPECT_EQ(p.gradient[1], 0);
  EXPECT_LT(p.gradient[2], 0);
  EXPECT_GT(p.gradient[4], 0);
  EXPECT_EQ(p.stats.dropped, 2);
}

TEST(Correction, DroppedTokensStillCountInTheDenominator) {
  PolicyLossConfig c;
  c.correction.rule = CorrectionRule::IcePop;
  LossProbe p;
  p.logprob = p.old = {-1, -1};
  p.behaviour = {-1, -5};
  p.advantage = {-1, -1};
  EXPECT_NEAR(p.run(c).total, .5, 1e-12);
}

TEST(Correction, AnEngineLogProbThatIsNotANumberIsDroppedByTheMasks) {
  for (const CorrectionRule rule : {CorrectionRule::IcePop, CorrectionRule::Decoupled}) {
    expect_near(weights(with(rule), {-1, -1}, {-1, std::nan("")}), {1, 0});
  }
}

TEST(Correction, KlAndEntropyAreNotWeighted) {
  PolicyLossConfig c;
  c.correction.rule = CorrectionRule::IcePop;
  c.kl_coef = 1;
  c.kl_estimator = KlEstimator::K2;
  LossProbe p;
  p.logprob = p.old = {-1};
  p.behaviour = {-9};
  p.reference = {-3};
  p.advantage = {1};
  EXPECT_NEAR(p.run(c).total, 2, 1e-12);
}

}  // namespace
}  // namespace sluice
