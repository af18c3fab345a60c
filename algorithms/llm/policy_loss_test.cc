#include "algorithms/llm/policy_loss.h"

#include "algorithms/llm/token_batch_support.h"
#include "dataflow/base/result.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

const PolicyLoss kLosses[] = {PolicyLoss::Clip, PolicyLoss::Unclipped, PolicyLoss::Reinforce,
                              PolicyLoss::Gspo, PolicyLoss::Gmpo,      PolicyLoss::Cispo,
                              PolicyLoss::Sapo, PolicyLoss::Dppo,      PolicyLoss::Dro};
const Aggregation kAggregations[] = {Aggregation::TokenMean, Aggregation::SequenceMeanTokenMean,
                                     Aggregation::SequenceMeanTokenSum,
                                     Aggregation::SequenceMeanTokenScale};

PolicyLossConfig with(PolicyLoss loss) {
  PolicyLossConfig c;
  c.loss = loss;
  return c;
}

// One token of a given ratio and advantage.
LossProbe one(const PolicyLossConfig& config, double ratio, double advantage) {
  LossProbe p;
  p.logprob = {std::log(ratio) - 2};
  p.old = {-2};
  p.advantage = {advantage};
  return p.run(config);
}

TEST(PolicyLoss, PpoClipTakesTheWorseOfTwoAndStopsTheGradientThere) {
  const PolicyLossConfig c;
  struct Row {
    double ratio, advantage, loss;
    bool stopped;
  };
  for (const Row& row : {Row{1.5, 1, -1.2, true}, Row{.5, 1, -.5, false}, Row{1.5, -1, 1.5, false},
                         Row{.5, -1, .8, true}}) {
    const LossProbe p = one(c, row.ratio, row.advantage);
    EXPECT_NEAR(p.total, row.loss, 1e-12);
    EXPECT_NEAR(p.gradient[0], row.stopped ? 0 : -row.advantage * row.ratio, 1e-12);
    EXPECT_EQ(p.stats.clipped_high, row.ratio > 1 && row.stopped ? 1 : 0);
    EXPECT_EQ(p.stats.clipped_low, row.ratio < 1 && row.stopped ? 1 : 0);
  }
}

TEST(PolicyLoss, ClipHigherMovesTheUpperBoundOnly) {
  PolicyLossConfig c;
  c.clip_high = .28;
  EXPECT_NEAR(one(c, 1.5, 1).total, -1.28, 1e-12);
  EXPECT_NEAR(one(c, 1.25, 1).total, -1.25, 1e-12);
  EXPECT_NEAR(one(c, .5, -1).total, .8, 1e-12);
}

TEST(PolicyLoss, DualClipBoundsTheLossOfNegativeAdvantages) {
  PolicyLossConfig c;
  c.dual_clip = 3;
  const LossProbe far = one(c, 5, -1);
  EXPECT_NEAR(far.total, 3, 1e-12);
  EXPECT_EQ(far.gradient[0], 0);
  EXPECT_EQ(far.stats.dual_clipped, 1);
  EXPECT_NEAR(one(c, 2, -1).total, 2, 1e-12);
  EXPECT_NEAR(one(c, 5, 1).total, -1.2, 1e-12);  // positive advantages do not see it
}

TEST(PolicyLoss, GspoHasOneRatioPerSequence) {
  PolicyLossConfig c = with(PolicyLoss::Gspo);
  c.aggregation = Aggregation::SequenceMeanTokenMean;
  c.clip_high = 1;
  LossProbe p;
  p.old = {-1, -2, -3};
  p.logprob = {-.9, -1.9, -2.6};
  p.advantage = {2, 2, 2};
  p.run(c);
  const double s = std::exp(.2);
  EXPECT_NEAR(p.stats.ratio / 3, 1.221403, 5e-7);
  EXPECT_NEAR(p.total, -2 * s, 1e-12);
  for (const double g : p.gradient) EXPECT_NEAR(g, -2 * s / 3, 1e-12);
  c.clip_high = .2;  // below 1.2214: the whole sequence is clipped
  p.run(c);
  EXPECT_NEAR(p.total, -2 * 1.2, 1e-12);
  for (const double g : p.gradient) EXPECT_EQ(g, 0);
  EXPECT_EQ(p.stats.clipped_high, 3);
}

TEST(PolicyLoss, SapoGatesAreSoftAndHaveSlopeOneOnPolicy) {
  PolicyLossConfig c = with(PolicyLoss::Sapo);
  EXPECT_NEAR(-one(c, 1, 1).total, 2, 1e-12);
  EXPECT_NEAR(one(c, 1, -1).total, 1.904762, 5e-7);
  EXPECT_NEAR(one(c, 1, 1).gradient[0], -1, 1e-12);
  EXPECT_NEAR(one(c, 1, -1).gradient[0], 1, 1e-12);
  EXPECT_NEAR(-one(c, 1.5, 1).total, 2.489837, 5e-7);
  EXPECT_NEAR(-one(c, 1.5, -1).total, -2.393585, 5e-7);
}

TEST(PolicyLoss, CispoCutsTheWeightAndNeverTheGradient) {
  PolicyLossConfig c = with(PolicyLoss::Cispo);
  EXPECT_NEAR(one(c, 7, 1).gradient[0], -1.2, 1e-12);
  EXPECT_NEAR(one(c, 7, -2).gradient[0], 2.4, 1e-12);
  c.clip_bound = ClipBound::Absolute;
  c.clip_high = 5;
  EXPECT_NEAR(one(c, 7, 1).gradient[0], -5, 1e-12);
  EXPECT_NEAR(one(c, .01, 1).gradient[0], -.01, 1e-12);
  EXPECT_EQ(one(c, 7, 1).stats.clipped_high, 1);
}

TEST(PolicyLoss, GmpoTakesTheGeometricMeanOfClippedRatios) {
  PolicyLossConfig c = with(PolicyLoss::Gmpo);
  c.aggregation = Aggregation::SequenceMeanTokenMean;
  c.clip_low = c.clip_high = .4;
  LossProbe p;
  p.old = {-1, -1, -1};
  p.logprob = {-.9, -1.3, -.1};  // log ratios .1, -.3, .9 (cut to .4)
  p.advantage = {1, 1, 1};
  p.run(c);
  const double ratio = std::exp(.2 / 3);
  EXPECT_NEAR(p.total, -ratio, 1e-12);
  EXPECT_NEAR(p.gradient[0], -ratio / 3, 1e-12);
  EXPECT_NEAR(p.gradient[1], -ratio / 3, 1e-12);
  EXPECT_EQ(p.gradient[2], 0);
  p.advantage = {-1, -1, -1};
  EXPECT_NEAR(p.run(c).total, std::exp(.7 / 3), 1e-12);  // the upper bound protects gains only
}

TEST(PolicyLoss, DppoMasksByTheChangeOfProbability) {
  PolicyLossConfig c = with(PolicyLoss::Dppo);
  LossProbe p;
  p.behaviour = {std::log(.2), std::log(.2), std::log(.6), std::log(.01)};
  p.logprob = {std::log(.5), std::log(.5), std::log(.3), std::log(.1)};
  p.advantage = {1, -1, -1, 1};
  p.run(c);
  EXPECT_EQ(p.gradient[0], 0);                  // rose by .3, and is asked to rise on
  EXPECT_NEAR(p.gradient[1], 2.5 / 4, 1e-12);   // rose, but is to fall
  EXPECT_EQ(p.gradient[2], 0);                  // fell by .3
  EXPECT_NEAR(p.gradient[3], -10. / 4, 1e-12);  // a tenfold ratio, a small change
  c.dppo_two_sided = true;
  c.dppo_square = 1e-3;
  p.run(c);
  EXPECT_NEAR(p.gradient[1], 2e-3 * std::log(2.5) / 4, 1e-12);
  EXPECT_EQ(p.stats.clipped_high, 2);
  EXPECT_EQ(p.stats.clipped_low, 1);
}

TEST(PolicyLoss, DroPullsBackToTheOldPolicy) {
  PolicyLossConfig c = with(PolicyLoss::Dro);
  c.dro_beta = .5;
  LossProbe p;
  p.logprob = {-1};
  p.old = {-3};
  p.advantage = {2};
  p.run(c);
  EXPECT_NEAR(p.total, -(-2 - .25 * 4), 1e-12);
  EXPECT_NEAR(p.gradient[0], -2 + .5 * 2, 1e-12);
}

TEST(PolicyLoss, DecoupledPpoClipsAgainstTheProximalPolicyAndWeighsByTheBehaviour) {
  PolicyLossConfig c;
  c.correction.rule = CorrectionRule::Decoupled;
  LossProbe p;
  p.behaviour = {std::log(.2), std::log(.04)};
  p.old = {std::log(.25), std::log(.25)};  // the second weight is 6.25, above 5: dropped
  p.logprob = {std::log(.4), std::log(.4)};
  p.advantage = {1, 1};
  p.run(c);
  EXPECT_NEAR(p.total, -1.5 / 2, 1e-12);  // the dropped token still counts
  EXPECT_EQ(p.stats.dropped, 1);
}

TEST(PolicyLoss, LogLinearProximalInterpolatesBetweenVersions) {
  const auto doubles = [](double a) { return at::full({1}, std::log(a), at::kDouble); };
  const auto at_version = [&](int64_t behaviour) {
    return log_linear_proximal(doubles(.2), doubles(.4), at::full({1}, behaviour, at::kLong), 10)
        .exp()
        .item<double>();
  };
  EXPECT_NEAR(at_version(7), .317480, 5e-7);
  EXPECT_NEAR(at_version(10), .2, 1e-12);
  EXPECT_NEAR(at_version(9), .2, 1e-12);
}

TEST(PolicyLoss, FirstUpdateOnPolicyHasRatioOneAndTheMeanAdvantageAsLoss) {
  LossProbe p;
  p.logprob = p.old = p.behaviour = {-1, -.5, -3, -.25};
  p.advantage = {1, 1, 1, -2};
  p.sequence = {0, 0, 0, 1};
  p.run({});
  EXPECT_DOUBLE_EQ(p.total, -.25);
  EXPECT_EQ(p.stats.ratio, 4);
  EXPECT_EQ(p.stats.ratio_max, 1);
  EXPECT_EQ(p.stats.approx_kl, 0);
  EXPECT_EQ(p.stats.clipped_low + p.stats.clipped_high, 0);
  EXPECT_EQ(p.stats.gap_max, 0);
  p.old.clear();  // no old log-probs at all: on policy by definition
  EXPECT_DOUBLE_EQ(p.run({}).total, -.25);
}

TEST(PolicyLoss, KlAndEntropyTermsAreAggregatedAlike) {
  PolicyLossConfig c;
  c.aggregation = Aggregation::SequenceMeanTokenMean;
  c.kl_coef = .1;
  c.kl_estimator = KlEstimator::K2;
  c.entropy_coef = .01;
  LossProbe p;
  p.logprob = {-1, -1, -1};
  p.reference = {-2, -1, -3};  // k2: .5, 0, 2
  p.advantage = {0, 0, 0};
  p.entropy = {1, 2, 3};
  p.sequence = {0, 1, 1};
  p.run(c);
  EXPECT_NEAR(p.stats.kl_loss, .1 * (.5 + 1) / 2, 1e-12);
  EXPECT_NEAR(p.stats.entropy_loss, -.01 * (1 + 2.5) / 2, 1e-12);
  EXPECT_NEAR(p.total, p.stats.kl_loss + p.stats.entropy_loss, 1e-12);
  EXPECT_NEAR(p.gradient[0], .1 * 1 / 2, 1e-12);
  EXPECT_NEAR(p.gradient[2], .1 * 2 / 4, 1e-12);
}

// Random rollouts of 1 to 9 tokens with a mask, all columns defined.
TokenBatch random_batch(int64_t rollouts) {
  at::manual_seed(7);
  std::vector<int64_t> sequence;
  for (int64_t s = 0; s < rollouts; ++s) sequence.insert(sequence.end(), 1 + (s * 5) % 9, s);
  const auto n = static_cast<int64_t>(sequence.size());
  const auto options = at::TensorOptions(at::kDouble);
  TokenBatch b;
  b.sequence = at::tensor(sequence, at::TensorOptions(at::kLong));
  b.logprob = -at::rand({n}, options) * 3;
  b.old_logprob = b.logprob + .3 * at::randn({n}, options);
  b.behaviour_logprob = b.old_logprob + .1 * at::randn({n}, options);
  b.reference_logprob = b.logprob + .5 * at::randn({n}, options);
  b.advantage = at::randn({rollouts}, options).index_select(0, b.sequence);
  b.entropy = at::rand({n}, options);
  b.mask = at::rand({n}, options) < .8;
  return b;
}

PolicyLossConfig everything(PolicyLoss loss, Aggregation aggregation) {
  PolicyLossConfig c = with(loss);
  c.aggregation = aggregation;
  c.kl_coef = .05;
  c.entropy_coef = .01;
  if (loss == PolicyLoss::Clip) c.dual_clip = 1.4;
  if (loss != PolicyLoss::Dppo) c.correction.rule = CorrectionRule::SequenceTis;
  return c;
}

// The rows of rollouts [first, last), numbered from 0.
TokenBatch part(const TokenBatch& b, int64_t first, int64_t last) {
  const at::Tensor rows =
      b.sequence.ge(first).logical_and(b.sequence.lt(last)).nonzero().squeeze(1);
  const auto take = [&](const at::Tensor& x) { return x.index_select(0, rows); };
  return {take(b.logprob),           take(b.old_logprob), take(b.behaviour_logprob),
          take(b.reference_logprob), take(b.advantage),   take(b.mask),
          take(b.sequence) - first,  take(b.entropy)};
}

TEST(PolicyLoss, MicroBatchesOfAnySizeGiveTheSameLossGradientAndStatistics) {
  for (const PolicyLoss loss : kLosses) {
    for (const Aggregation aggregation : kAggregations) {
      TokenBatch b = random_batch(8);
      const PolicyLossConfig c = everything(loss, aggregation);
      const Denominator all = count_tokens(b.mask, b.sequence, 9);
      b.logprob.requires_grad_(true);
      const TokenLoss whole = policy_loss(c, b, all);
      const at::Tensor want = torch::autograd::grad({whole.total}, {b.logprob})[0];
      for (const int64_t size : {1, 2, 4}) {
        double total = 0;
        PolicyStats stats;
        at::Tensor got = at::zeros_like(want);
        for (int64_t s = 0; s < 8; s += size) {
          const TokenLoss piece = policy_loss(c, part(b, s, s + size), all);
          total += piece.total.item<double>();
          stats.add(piece.stats);
          got += torch::autograd::grad({piece.total}, {b.logprob})[0];
        }
        EXPECT_NEAR(total, whole.total.item<double>(), 1e-12);
        EXPECT_TRUE(at::allclose(got, want, 1e-12, 1e-14));
        const auto a = stats.means(), w = whole.stats.means();
        for (size_t i = 0; i < a.size(); ++i) {
          EXPECT_NEAR(a[i].second, w[i].second, 1e-12) << a[i].first;
        }
      }
    }
  }
}

TEST(PolicyLoss, PaddingRowsOfAnyContentChangeNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const PolicyLoss loss : kLosses) {
    for (const Aggregation aggregation : kAggregations) {
      const PolicyLossConfig c = everything(loss, aggregation);
      const TokenBatch packed = random_batch(4);
      const Denominator all = count_tokens(packed.mask, packed.sequence, 9);
      const double want = policy_loss(c, packed, all).total.item<double>();
      for (const double junk : {0.0, nan, -inf, inf}) {
        const auto pad = [&](const at::Tensor& x, const at::Scalar& value) {
          return at::cat({x, at::full({5}, value, x.options())});
        };
        TokenBatch b{pad(packed.logprob, junk),
                     pad(packed.old_logprob, junk),
                     pad(packed.behaviour_logprob, junk),
                     pad(packed.reference_logprob, junk),
                     pad(packed.advantage, junk),
                     pad(packed.mask, false),
                     pad(packed.sequence, 3),
                     pad(packed.entropy, junk)};
        b.logprob.requires_grad_(true);
        const TokenLoss padded = policy_loss(c, b, all);
        EXPECT_EQ(padded.total.item<double>(), want);
        const at::Tensor g = torch::autograd::grad({padded.total}, {b.logprob})[0];
        EXPECT_TRUE(g.isfinite().all().item<bool>());
        EXPECT_TRUE(g.masked_select(b.mask.logical_not()).eq(0).all().item<bool>());
      }
    }
  }
}

TEST(PolicyLoss, GradientsAgreeWithFiniteDifferences) {
  for (const PolicyLoss loss : {PolicyLoss::Clip, PolicyLoss::Unclipped, PolicyLoss::Reinforce,
                                PolicyLoss::Gmpo, PolicyLoss::Sapo, PolicyLoss::Dro}) {
    TokenBatch b = random_batch(5);
    PolicyLossConfig c = everything(loss, Aggregation::SequenceMeanTokenMean);
    c.kl_estimator = KlEstimator::K3;
    const Denominator all = count_tokens(b.mask, b.sequence, 9);
    const at::Tensor x = b.logprob.clone();
    b.logprob = x.clone().requires_grad_(true);
    const at::Tensor g = torch::autograd::grad({policy_loss(c, b, all).total}, {b.logprob})[0];
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double h = 1e-6;
      const auto shifted = [&](double by) {
        b.logprob = x.clone();
        b.logprob[i] += by;
        return policy_loss(c, b, all).total.item<double>();
      };
      EXPECT_NEAR(g[i].item<double>(), (shifted(h) - shifted(-h)) / (2 * h), 1e-7);
    }
  }
}

TEST(PolicyLoss, AllResponsesMaskedIsALossOfZero) {
  for (const PolicyLoss loss : kLosses) {
    LossProbe p;
    p.logprob = p.old = p.behaviour = p.reference = p.advantage = p.entropy = {-1, -2};
    p.mask = {0, 0};
    p.run(everything(loss, Aggregation::TokenMean));
    EXPECT_EQ(p.total, 0);
    EXPECT_EQ(p.gradient, std::vector<double>(2, 0));
    EXPECT_EQ(p.stats.tokens, 0);
    for (const auto& [name, value] : p.stats.means()) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(PolicyLoss, ZeroAdvantagesGiveExactlyZero) {
  for (const PolicyLoss loss : {PolicyLoss::Clip, PolicyLoss::Gspo, PolicyLoss::Gmpo,
                                PolicyLoss::Cispo, PolicyLoss::Sapo, PolicyLoss::Dppo}) {
    const LossProbe p = one(with(loss), 1.7, 0);
    EXPECT_EQ(p.total, 0);
    EXPECT_EQ(p.gradient[0], 0);
  }
}

TEST(PolicyLoss, ExtremeLogProbsStayFinite) {
  for (const PolicyLoss loss : kLosses) {
    for (const double lp : {-1e4, -300., 0.}) {
      LossProbe p;
      p.logprob = {lp};
      p.old = {-400};
      p.advantage = {-1};
      p.run(with(loss));
      EXPECT_TRUE(std::isfinite(p.total)) << static_cast<int>(loss);
      EXPECT_TRUE(std::isfinite(p.gradient[0])) << static_cast<int>(loss);
    }
  }
}

TEST(PolicyLoss, AdvantagesInDoubleDoNotChangeTheTypeOfTheLoss) {
  TokenBatch b = random_batch(2);
  b.logprob = b.logprob.to(at::kFloat);
  EXPECT_EQ(policy_loss({}, b, count_tokens(b.mask, b.sequence)).total.scalar_type(), at::kFloat);
}

TEST(PolicyLoss, WhatItNeedsMustBeThere) {
  LossProbe p;
  p.logprob = {-1};
  p.advantage = {1};
  PolicyLossConfig c;
  c.kl_coef = .1;
  EXPECT_THROW((void)p.run(c), CheckFailure);
  c = {};
  c.entropy_coef = .1;
  EXPECT_THROW((void)p.run(c), CheckFailure);
  c = {};
  c.correction.rule = CorrectionRule::Tis;
  EXPECT_THROW((void)p.run(c), CheckFailure);
  p.advantage = {1, 2};
  EXPECT_THROW((void)p.run({}), CheckFailure);
}

}  // namespace
}  // namespace sluice
