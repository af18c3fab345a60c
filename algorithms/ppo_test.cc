#include "algorithms/ppo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

namespace sluice {
namespace {

std::vector<Isa> variants() {
  std::vector<Isa> result;
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (supported(isa)) result.push_back(isa);
  }
  return result;
}

struct Problem {
  TensorMap outputs, minibatch;
};

// Random rows in double; ratios spread over both sides of the clip range.
Problem make(bool discrete, int64_t n, int64_t size) {
  Problem p;
  const auto options = at::TensorOptions(at::kDouble);
  at::Tensor log_prob;
  if (discrete) {
    const at::Tensor logits = at::randn({n, size}, options);
    const at::Tensor action = at::randint(size, {n}, at::kLong);
    log_prob = logits.log_softmax(-1).gather(1, action.unsqueeze(1)).squeeze(1);
    p.outputs.set("logits", logits);
    p.minibatch.set("action", action);
  } else {
    const at::Tensor mean = at::randn({n, size}, options),
                     log_std = at::randn({size}, options) * 0.3;
    const at::Tensor action = mean + log_std.exp() * at::randn({n, size}, options);
    const at::Tensor z = (action - mean) / log_std.exp();
    log_prob = (-0.5 * z.square() - log_std - 0.5 * std::log(2 * M_PI)).sum(-1);
    p.outputs.set("mean", mean);
    p.outputs.set("log_std", log_std);
    p.minibatch.set("action", action);
  }
  p.outputs.set("value", at::randn({n}, options));
  p.minibatch.set("log_prob", log_prob + 0.3 * at::randn({n}, options));
  p.minibatch.set("value", p.outputs.at("value") + 0.3 * at::randn({n}, options));
  p.minibatch.set("advantage", at::randn({n}, options) * 2 + 1);
  p.minibatch.set("return", at::randn({n}, options));
  return p;
}

PpoConfig config(double value_clip = 0.2) {
  PpoConfig c;
  c.value_clip = value_clip;
  c.entropy_coef = 0.01;
  return c;
}

std::vector<at::Tensor> autograd(const PpoConfig& c, Problem& p) {
  std::vector<at::Tensor> inputs;
  TensorMap outputs;
  for (const auto& [name, tensor] : p.outputs.entries()) {
    inputs.push_back(tensor.detach().clone().requires_grad_(true));
    outputs.set(name, inputs.back());
  }
  return torch::autograd::grad({ppo_loss(c, outputs, p.minibatch).total}, inputs);
}

TEST(PpoLoss, AutogradAgreesWithFiniteDifferences) {
  for (const bool discrete : {true, false}) {
    Problem p = make(discrete, 13, 3);
    const auto grads = autograd(config(), p);
    for (size_t k = 0; k < grads.size(); ++k) {
      at::Tensor x = p.outputs.entries()[k].second.view(-1);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double h = 1e-6, at = x[i].item<double>();
        x[i].fill_(at + h);
        const double up = ppo_loss(config(), p.outputs, p.minibatch).total.item<double>();
        x[i].fill_(at - h);
        const double down = ppo_loss(config(), p.outputs, p.minibatch).total.item<double>();
        x[i].fill_(at);
        EXPECT_NEAR(grads[k].reshape({-1})[i].item<double>(), (up - down) / (2 * h), 1e-7);
      }
    }
  }
}

TEST(PpoLossGrad, AnalyticGradientsAndStatisticsAgreeWithAutograd) {
  for (const Isa isa : variants()) {
    for (const bool discrete : {true, false}) {
      for (const double value_clip : {0.0, 0.2}) {
        for (const int64_t n : {1, 7, 16, 93}) {
          const int64_t size = discrete ? 5 : 3, stride = size + 3;
          Problem p = make(discrete, n, size);
          const PpoConfig c = config(value_clip);
          const auto expected = autograd(c, p);
          const auto f = [](const at::Tensor& t) { return t.to(at::kFloat).contiguous(); };
          at::Tensor head = at::zeros({n, stride});
          head.narrow(1, 0, size).copy_(p.outputs.entries()[0].second);
          const at::Tensor value = f(p.outputs.at("value")), action = f(p.minibatch.at("action"));
          const at::Tensor old = f(p.minibatch.at("log_prob")),
                           old_value = f(p.minibatch.at("value"));
          const at::Tensor advantage = f(p.minibatch.at("advantage")),
                           returns = f(p.minibatch.at("return"));
          const at::Tensor log_std = discrete ? at::Tensor() : f(p.outputs.at("log_std"));
          PpoRows rows;
          rows.rows = n;
          rows.size = size;
          rows.head = head.data_ptr<float>();
          rows.head_stride = stride;
          if (!discrete) rows.log_std = log_std.data_ptr<float>();
          rows.value = value.data_ptr<float>();
          rows.action = action.data_ptr<float>();
          rows.old_log_prob = old.data_ptr<float>();
          rows.old_value = old_value.data_ptr<float>();
          rows.advantage = advantage.data_ptr<float>();
          rows.returns = returns.data_ptr<float>();
          rows.moments = moments(rows.advantage, n);
          at::Tensor d_head = at::zeros({n, stride}), d_value = at::zeros({n}),
                     d_log_std = at::zeros({size});
          const PpoSums sums =
              ppo_loss_grad(c, rows, static_cast<double>(n),
                            {d_head.data_ptr<float>(), stride, d_value.data_ptr<float>(), 1,
                             d_log_std.data_ptr<float>()},
                            isa);
          SCOPED_TRACE(std::string(name(isa)) + (discrete ? " categorical " : " gaussian ") +
                       std::to_string(n));
          const auto close = [](const at::Tensor& a, const at::Tensor& b) {
            return (a - b).abs().max().item<double>();
          };
          EXPECT_LT(close(d_head.narrow(1, 0, size), expected[0]), 3e-6);
          EXPECT_EQ(d_head.narrow(1, size, 3).abs().max().item<float>(), 0.0F);
          if (!discrete) {
            EXPECT_LT(close(d_log_std, expected[1]), 5e-6);
          }
          EXPECT_LT(close(d_value, expected.back()), 1e-6);
          const Loss loss = ppo_loss(c, p.outputs, p.minibatch);
          const double count = static_cast<double>(n);
          EXPECT_NEAR(sums.policy / count, loss.stats[0].second, 1e-5);
          EXPECT_NEAR(sums.value / count, loss.stats[1].second, 1e-5);
          EXPECT_NEAR(sums.entropy / count, loss.stats[2].second, 1e-5);
          EXPECT_NEAR(sums.kl / count, loss.stats[3].second, 1e-5);
          EXPECT_NEAR(sums.clipped / count, loss.stats[4].second, 1e-9);
        }
      }
    }
  }
}

// One row with the given ratio and advantage; returns {policy loss, d/d(chosen logit)}.
std::pair<double, double> one_row(double ratio, double advantage) {
  PpoConfig c;
  c.normalise_advantage = false;
  const float z[] = {0, 0}, zero = 0, a = static_cast<float>(advantage);
  const float old = static_cast<float>(std::log(0.5 / ratio));
  PpoRows rows;
  rows.rows = 1;
  rows.size = 2;
  rows.head = z;
  rows.head_stride = 2;
  rows.value = rows.old_value = rows.returns = rows.action = &zero;
  rows.old_log_prob = &old;
  rows.advantage = &a;
  float d[2], dv;
  const PpoSums sums = ppo_loss_grad(c, rows, 1, {d, 2, &dv, 1, nullptr});
  return {sums.policy, static_cast<double>(d[0])};
}

TEST(PpoLossGrad, ClipsAsWorkedOut) {
  const struct {
    double ratio, advantage, objective;
    bool flat;
  } cases[] = {
      {1.5, 1, 1.2, true}, {1.5, -1, -1.5, false}, {.5, 1, .5, false}, {.5, -1, -.8, true}};
  for (const auto& c : cases) {
    const auto [loss, slope] = one_row(c.ratio, c.advantage);
    EXPECT_NEAR(-loss, c.objective, 1e-6);
    EXPECT_EQ(slope == 0.0, c.flat) << c.ratio << " " << c.advantage;
  }
}

TEST(PpoLossGrad, ClipsTheValueAsWorkedOut) {
  PpoConfig c;
  c.value_clip = 0.2;
  const float z[] = {0, 0}, zero = 0, value = 2, old = 1, target = 3, log_half = std::log(0.5F);
  PpoRows rows{1, 2, z, 2, nullptr, &value, 1, &zero, &log_half, &old, &zero, &target, {}};
  float d[2], dv;
  EXPECT_NEAR(ppo_loss_grad(c, rows, 1, {d, 2, &dv, 1, nullptr}).value, 1.62, 1e-5);
  EXPECT_EQ(dv, 0.0F);
}

TEST(PpoLossGrad, TheKlEstimateIsK3) {
  PpoConfig c;
  const float z[] = {0, 0}, zero = 0, old = std::log(0.5F / 1.2F);
  PpoRows rows{1, 2, z, 2, nullptr, &zero, 1, &zero, &old, &zero, &zero, &zero, {}};
  float d[2], dv;
  EXPECT_NEAR(ppo_loss_grad(c, rows, 1, {d, 2, &dv, 1, nullptr}).kl, 0.0176784, 1e-6);
}

TEST(PpoLoss, MaskedRowsLeaveNoTrace) {
  Problem p = make(true, 8, 3);
  const at::Tensor mask = at::ones({8}, at::kBool);
  mask[2].fill_(false);
  mask[7].fill_(false);
  p.minibatch.set("mask", mask);
  const double before = ppo_loss(config(), p.outputs, p.minibatch).total.item<double>();
  p.minibatch.at("advantage")[2].fill_(std::nan(""));
  p.minibatch.at("return")[7].fill_(1e9);
  EXPECT_EQ(ppo_loss(config(), p.outputs, p.minibatch).total.item<double>(), before);
}

TEST(Normalise, UsesTheUnbiasedDeviationAndSurvivesOneSample) {
  const at::Tensor n = normalise(at::arange(1, 5, at::kFloat));
  EXPECT_NEAR(n[0].item<double>(), -1.161895, 1e-6);
  EXPECT_NEAR(n[2].item<double>(), 0.387298, 1e-6);
  EXPECT_EQ(normalise(at::full({1}, 5.0))[0].item<double>(), 0.0);
}

TEST(Ppo, StopsOnKlAndAnnealsLinearly) {
  PpoConfig c;
  EXPECT_FALSE(kl_stop(c, 100));
  c.target_kl = 0.01;
  EXPECT_FALSE(kl_stop(c, 0.015));
  EXPECT_TRUE(kl_stop(c, 0.0151));
  c.learning_rate = 2.5e-4;
  EXPECT_EQ(annealed_rate(c, 500, 976), 2.5e-4);
  c.anneal = true;
  EXPECT_EQ(annealed_rate(c, 0, 976), 2.5e-4);
  EXPECT_NEAR(annealed_rate(c, 975, 976), 2.5615e-7, 1e-11);
}

}  // namespace
}  // namespace sluice
