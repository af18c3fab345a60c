#include "algorithms/llm/supervised_loss.h"

#include "algorithms/llm/policy_loss.h"
#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

namespace sluice {
namespace {

at::Tensor d(const std::vector<double>& v) { return at::tensor(v, at::TensorOptions(at::kDouble)); }

TEST(SupervisedLoss, IsTheMeanCrossEntropyOfTheTokensThatCount) {
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor lp = d({-1, -inf, -3, -5}).requires_grad_(true);
  const at::Tensor mask = at::tensor({1, 0, 1, 1}, at::kLong).to(at::kBool);
  const at::Tensor sequence = at::tensor({0, 0, 0, 1}, at::kLong);
  const at::Tensor loss =
      supervised_loss(lp, mask, sequence, Aggregation::TokenMean, count_tokens(mask, sequence));
  EXPECT_DOUBLE_EQ(loss.item<double>(), 3);
  EXPECT_TRUE(
      at::allclose(torch::autograd::grad({loss}, {lp})[0], d({-1. / 3, 0, -1. / 3, -1. / 3})));
}

TEST(DistillationAdvantage, IsTheTeachersLeadAndBounded) {
  const at::Tensor a = distillation_advantage(d({-1, -2, -1}), d({-3, -1, -100}), .5);
  EXPECT_TRUE(at::equal(a, d({-1, .5, -10})));
}

TEST(DistillationAdvantage, ExpectedGradientIsThatOfTheReverseKl) {
  // Over all tokens weighted by their probability, instead of samples.
  const at::Tensor logits = d({.3, -1, .8, .1}).requires_grad_(true);
  const at::Tensor lp = logits.log_softmax(0), teacher = d({1, .2, -.5, 0}).log_softmax(0);
  TokenBatch b;
  b.logprob = lp;
  b.advantage = distillation_advantage(lp, teacher, 1, 100) * lp.detach().exp();
  b.sequence = at::zeros({4}, at::kLong);
  PolicyLossConfig c;
  c.loss = PolicyLoss::Unclipped;
  const at::Tensor got =
      torch::autograd::grad({policy_loss(c, b, {1, 1, 0}).total}, {logits}, {}, true)[0];
  const at::Tensor kl = (lp.exp() * (lp - teacher)).sum();
  EXPECT_TRUE(at::allclose(got, torch::autograd::grad({kl}, {logits})[0], 1e-12, 1e-12));
}

TEST(DistillationDivergence, IsZeroForEqualDistributionsAndOtherwisePositive) {
  const at::Tensor x = d({.3, -1, .8, .1, 2, 0}).view({2, 3});
  for (const double beta : {0., .25, .5, 1.}) {
    EXPECT_LT(distillation_divergence(x, x + 3, beta).abs().max().item<double>(), 1e-12);
    EXPECT_GT(distillation_divergence(x, x.flip(1), beta).min().item<double>(), 0);
  }
  EXPECT_THROW((void)distillation_divergence(x, x, 2), CheckFailure);
  EXPECT_THROW((void)distillation_divergence(x, x, .5, 0), CheckFailure);
}

}  // namespace
}  // namespace sluice
