#include "models/transformer/logprobs/token_logprobs.h"

#include "models/transformer/logprobs/tensor_peak.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <fstream>

namespace sluice {
namespace {
using testing::HasSubstr;

/// Inputs of one comparison and the gradients that flow into its results.
struct Problem {
  at::Tensor hidden, weight, bias, targets, g, q;
  double softcap = 0;
  int64_t vocabulary = 0;

  [[nodiscard]] LmHead head() const { return {weight, bias, softcap, vocabulary}; }
};

Problem problem(int64_t rows, int64_t width, int64_t vocabulary, bool bias, double scale = 1) {
  at::manual_seed(static_cast<uint64_t>(rows * 7919 + vocabulary));
  Problem p;
  p.hidden = at::randn({rows, width}, at::kDouble) * scale;
  p.weight = at::randn({vocabulary, width}, at::kDouble);
  if (bias) p.bias = at::randn({vocabulary}, at::kDouble);
  p.targets = at::randint(vocabulary, {rows}, at::kLong);
  p.g = at::randn({rows}, at::kDouble);
  p.q = at::randn({rows}, at::kDouble);
  return p;
}

struct Outcome {
  at::Tensor logprob, entropy, d_hidden, d_weight, d_bias;
};

enum class Form { Chunked, Plain };

Outcome outcome(Problem p, Form form, LogprobOptions options, at::ScalarType as = at::kDouble) {
  p.hidden = p.hidden.to(as).detach().clone().requires_grad_();
  p.weight = p.weight.to(as).detach().clone().requires_grad_();
  if (p.bias.defined()) p.bias = p.bias.to(as).detach().clone().requires_grad_();
  const auto f = form == Form::Plain ? token_logprobs_plain : token_logprobs;
  const Result<TokenLogprobs> out = f(p.hidden, p.head(), p.targets, options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  std::vector<at::Tensor> roots{out->logprob};
  std::vector<at::Tensor> gradients{p.g.to(out->logprob.scalar_type())};
  if (options.entropy) {
    roots.push_back(out->entropy);
    gradients.push_back(p.q.to(out->logprob.scalar_type()));
  }
  torch::autograd::backward(roots, gradients);
  return {out->logprob.detach(), options.entropy ? out->entropy.detach() : at::Tensor(),
          p.hidden.grad(), p.weight.grad(), p.bias.defined() ? p.bias.grad() : at::Tensor()};
}

/// The greatest difference over the greatest expected value (or 1).
double distance(const at::Tensor& got, const at::Tensor& want) {
  if (!want.defined()) return got.defined() ? INFINITY : 0;
  const at::Tensor wide = want.to(at::kDouble);
  const double scale = std::max(1.0, wide.abs().max().item<double>());
  return (got.to(at::kDouble) - wide).abs().max().item<double>() / scale;
}

void expect_near(const Outcome& got, const Outcome& want, double tolerance) {
  EXPECT_LE(distance(got.logprob, want.logprob), tolerance);
  EXPECT_LE(distance(got.entropy, want.entropy), tolerance);
  EXPECT_LE(distance(got.d_hidden, want.d_hidden), tolerance);
  EXPECT_LE(distance(got.d_weight, want.d_weight), tolerance);
  EXPECT_LE(distance(got.d_bias, want.d_bias), tolerance);
}

TEST(TokenLogprobs, EqualThePlainFormInFp64ForEveryTemperatureTileAndHead) {
  for (const double temperature : {0.3, 0.7, 1.0, 2.0}) {
    for (const double softcap : {0.0, 4.0}) {
      for (const bool entropy : {false, true}) {
        Problem p = problem(19, 8, 101, softcap == 0.0);
        p.softcap = softcap;
        // The vocabulary in one tile, in tiles that do not divide it, and rows in several blocks.
        for (const int64_t tile : {19 * 101, 19 * 10, 7}) {
          const LogprobOptions options{temperature, entropy, tile};
          expect_near(outcome(p, Form::Chunked, options), outcome(p, Form::Plain, options), 1e-12);
        }
      }
    }
  }
}

TEST(TokenLogprobs, InFp32AreWithinRoundingOfFp64) {
  const Problem p = problem(70, 32, 5003, true, 0.5);
  const LogprobOptions options{0.8, true, 70 * 300};
  expect_near(outcome(p, Form::Chunked, options, at::kFloat), outcome(p, Form::Plain, options),
              5e-6);
}

TEST(TokenLogprobs, OfBf16WeightsAreComputedInFp32) {
  Problem p = problem(9, 16, 200, false);
  p.hidden = p.hidden.to(at::kBFloat16).to(at::kDouble);
  p.weight = p.weight.to(at::kBFloat16).to(at::kDouble);
  const LogprobOptions options{1, true, 9 * 64};
  const Outcome got = outcome(p, Form::Chunked, options, at::kBFloat16);
  const Outcome want = outcome(p, Form::Plain, options);
  EXPECT_EQ(got.logprob.scalar_type(), at::kFloat);
  EXPECT_EQ(got.d_weight.scalar_type(), at::kBFloat16);
  EXPECT_LE(distance(got.logprob, want.logprob), 1e-5);
  EXPECT_LE(distance(got.entropy, want.entropy), 1e-5);
  EXPECT_LE(distance(got.d_hidden, want.d_hidden), 5e-3);
  EXPECT_LE(distance(got.d_weight, want.d_weight), 5e-3);
}

TEST(TokenLogprobs, EqualPyTorchsNumbers) {
  std::ifstream file(SLUICE_SOURCE_DIR
                     "/models/transformer/logprobs/testdata/logprobs_golden.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 3U);
  for (const auto& one : cases) {
    const auto tensor = [&](const char* key) {
      std::vector<double> flat;
      for (const auto& row : one[key]) {
        if (row.is_array()) {
          for (const double x : row) flat.push_back(x);
        } else {
          flat.push_back(row.get<double>());
        }
      }
      if (flat.empty()) return at::Tensor();
      const at::Tensor t = at::tensor(flat, at::kDouble);
      return one[key][0].is_array() ? t.view({static_cast<int64_t>(one[key].size()), -1}) : t;
    };
    Problem p;
    p.hidden = tensor("hidden");
    p.weight = tensor("weight");
    p.bias = tensor("bias");
    p.targets = tensor("targets").to(at::kLong);
    p.g = tensor("g");
    p.q = tensor("q");
    p.softcap = one["softcap"];
    const Outcome want{tensor("logprob"), tensor("entropy"), tensor("d_hidden"), tensor("d_weight"),
                       tensor("d_bias")};
    const LogprobOptions options{one["temperature"], true, 4 * 5};
    expect_near(outcome(p, Form::Chunked, options), want, 1e-13);
    expect_near(outcome(p, Form::Plain, options), want, 1e-13);
  }
}

/// One token whose logits are 2, 1, 0.
Problem ladder() {
  Problem p;
  p.hidden = at::ones({1, 1}, at::kDouble);
  p.weight = at::tensor({2., 1., 0.}, at::kDouble).view({3, 1});
  return p;
}

TEST(TokenLogprobs, WorkedExample) {
  const Problem p = ladder();
  const double want[3][3] = {{-.407606, -1.407606, -2.407606},
                             {-.142932, -2.142932, -4.142932},
                             {-.680270, -1.180270, -1.680270}};
  const double temperatures[3] = {1, .5, 2};
  for (int t = 0; t < 3; ++t) {
    for (int64_t y = 0; y < 3; ++y) {
      const auto out = token_logprobs(p.hidden, p.head(), at::full({1}, y, at::kLong),
                                      {temperatures[t], true, 2});
      ASSERT_TRUE(out.ok());
      EXPECT_NEAR(out->logprob.item<double>(), want[t][y], 1e-6);
      if (temperatures[t] == 1) {
        EXPECT_NEAR(out->entropy.item<double>(), .832396, 1e-6);
      }
    }
  }
}

TEST(TokenLogprobs, PaddedRowsOfTheHeadDoNotCount) {
  Problem p = ladder();
  p.weight = at::cat({p.weight, at::zeros({1, 1}, at::kDouble)}).requires_grad_();
  p.vocabulary = 3;
  const at::Tensor target = at::zeros({1}, at::kLong);
  const auto out = token_logprobs(p.hidden, p.head(), target);
  ASSERT_TRUE(out.ok());
  EXPECT_NEAR(out->logprob.item<double>(), -.407606, 1e-6);
  out->logprob.sum().backward();
  EXPECT_EQ(p.weight.grad()[3].item<double>(), 0);
  EXPECT_EQ(token_logprobs(p.hidden, p.head(), target + 3).status().code(), Code::OutOfRange);
}

TEST(TokenLogprobs, IgnoredTargetsGiveZeroAndNoGradientWhateverTheirRowHolds) {
  Problem p = problem(6, 4, 30, true);
  const LogprobOptions options{1.3, true, 6 * 7};
  const Outcome clean = outcome(p, Form::Chunked, options);
  p.targets[1] = p.targets[4] = kIgnoreTarget;
  p.hidden[1] = NAN;
  p.g[1] = NAN;
  p.q[4] = INFINITY;
  const Outcome masked = outcome(p, Form::Chunked, options);
  for (const int64_t row : {1, 4}) {
    EXPECT_EQ(masked.logprob[row].item<double>(), 0);
    EXPECT_EQ(masked.entropy[row].item<double>(), 0);
    EXPECT_EQ(masked.d_hidden[row].abs().max().item<double>(), 0);
  }
  for (const int64_t row : {0, 2, 3, 5}) {
    EXPECT_NEAR(masked.logprob[row].item<double>(), clean.logprob[row].item<double>(), 1e-13);
    EXPECT_LE(distance(masked.d_hidden[row], clean.d_hidden[row]), 1e-13);
  }
  EXPECT_TRUE(masked.d_weight.isfinite().all().item<bool>());
  EXPECT_GT(distance(masked.d_weight, clean.d_weight), 1e-6);
}

TEST(TokenLogprobs, WhenEveryTargetIsIgnoredBackwardGivesZeros) {
  Problem p = problem(4, 4, 30, false);
  p.targets.fill_(kIgnoreTarget);
  const Outcome out = outcome(p, Form::Chunked, {1, true, 50});
  EXPECT_EQ(out.logprob.abs().max().item<double>(), 0);
  EXPECT_EQ(out.d_hidden.abs().max().item<double>(), 0);
  EXPECT_EQ(out.d_weight.abs().max().item<double>(), 0);
}

TEST(TokenLogprobs, ANanRowIsSeenInItsTokenOnly) {
  for (const at::ScalarType as : {at::kDouble, at::kFloat}) {
    Problem p = problem(5, 4, 30, false);
    p.hidden[3][1] = NAN;
    const Outcome out = outcome(p, Form::Chunked, {1, true, 5 * 8}, as);
    for (int64_t row = 0; row < 5; ++row) {
      EXPECT_EQ(std::isnan(out.logprob[row].item<double>()), row == 3);
      EXPECT_EQ(std::isnan(out.entropy[row].item<double>()), row == 3);
      EXPECT_EQ(out.d_hidden[row].isnan().any().item<bool>(), row == 3);
    }
    EXPECT_TRUE(out.d_weight.isnan().all().item<bool>());
  }
}

TEST(TokenLogprobs, AreExactForLogitsThatOverflowAnExponential) {
  for (const at::ScalarType as : {at::kDouble, at::kFloat}) {
    Problem p = problem(8, 4, 57, false, 1e4);
    const LogprobOptions options{0.3, true, 8 * 10};
    const Outcome got = outcome(p, Form::Chunked, options, as);
    const Outcome want = outcome(p, Form::Plain, options);
    EXPECT_TRUE(got.logprob.isfinite().all().item<bool>());
    EXPECT_LE(got.logprob.max().item<double>(), 0);
    EXPECT_GE(got.entropy.min().item<double>(), -1e-6);
    expect_near(got, want, as == at::kDouble ? 1e-12 : 1e-5);
  }
}

TEST(TokenLogprobs, ForbiddenTokensHaveNoWeightInTheEntropy) {
  for (const at::ScalarType as : {at::kDouble, at::kFloat}) {
    Problem p = problem(4, 3, 20, true);
    p.bias.narrow(0, 0, 10).fill_(-INFINITY);  // whole tiles of -inf before the first logit
    p.targets = at::tensor({10, 12, 15, 19}, at::kLong);
    Problem allowed = p;
    allowed.weight = p.weight.narrow(0, 10, 10);
    allowed.bias = p.bias.narrow(0, 10, 10);
    allowed.targets = p.targets - 10;
    const Outcome got = outcome(p, Form::Chunked, {1, true, 4 * 3}, as);
    const Outcome want = outcome(allowed, Form::Plain, {1, true});
    EXPECT_LE(distance(got.logprob, want.logprob), 1e-6);
    EXPECT_LE(distance(got.entropy, want.entropy), 1e-6);
    EXPECT_LE(distance(got.d_hidden, want.d_hidden), 1e-6);
    EXPECT_LE(distance(got.d_weight.narrow(0, 10, 10), want.d_weight), 1e-6);
    EXPECT_EQ(got.d_weight.narrow(0, 0, 10).abs().max().item<double>(), 0);
  }
}

TEST(TokenLogprobs, GradientOfTheEntropyAlone) {
  Problem p = problem(6, 4, 23, false);
  p.g.zero_();
  const auto entropy_gradient = [&](auto f) {
    const at::Tensor h = p.hidden.detach().clone().requires_grad_();
    const auto out = f(h, p.head(), p.targets, LogprobOptions{0.9, true, 30});
    EXPECT_TRUE(out.ok());
    out->entropy.sum().backward();
    return h.grad();
  };
  EXPECT_LE(distance(entropy_gradient(token_logprobs), entropy_gradient(token_logprobs_plain)),
            1e-13);
}

TEST(TokenLogprobs, OnlyWhatNeedsAGradientGetsOne) {
  const Problem p = problem(6, 4, 23, false);
  const at::Tensor h = p.hidden.clone().requires_grad_();
  const auto out = token_logprobs(h, p.head(), p.targets);
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(out->entropy.defined());
  out->logprob.sum().backward();
  EXPECT_TRUE(h.grad().defined());
  EXPECT_FALSE(p.weight.grad().defined());
  EXPECT_FALSE(token_logprobs(p.hidden, p.head(), p.targets)->logprob.requires_grad());
}

TEST(TokenLogprobs, SecondDerivativesAreRefused) {
  const Problem p = problem(3, 4, 23, false);
  const at::Tensor h = p.hidden.clone().requires_grad_();
  const auto out = token_logprobs(h, p.head(), p.targets);
  ASSERT_TRUE(out.ok());
  EXPECT_THROW(torch::autograd::grad({out->logprob.sum()}, {h}, {}, true, true), std::exception);
}

TEST(TokenLogprobs, NeverHoldMoreThanATileOfLogits) {
  const int64_t rows = 512, width = 16, vocabulary = 20'000, tile = 100'000;
  Problem p = problem(rows, width, vocabulary, false);
  p.hidden = p.hidden.to(at::kFloat).requires_grad_();
  p.weight = p.weight.to(at::kFloat).requires_grad_();
  int64_t left = 0;
  const TensorPeak peak;
  {
    const auto out = token_logprobs(p.hidden, p.head(), p.targets, {0.7, true, tile});
    ASSERT_TRUE(out.ok());
    torch::autograd::backward({out->logprob.sum() + out->entropy.sum()});
    left = 4 * (p.hidden.grad().numel() + p.weight.grad().numel());
  }
  // Beside the gradients: the tile, the scaled hidden states, and some numbers of each row.
  EXPECT_LE(peak.bytes() - left, 4 * tile + 64 * 4 * rows + 2 * 4 * rows * width);
  EXPECT_GE(peak.bytes() - left, 4 * tile);
}

TEST(TokenLogprobs, KeptLogitsAndAGradientAddedInPlaceChangeNoNumber) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    Problem p = problem(7, 5, 41, true);
    p.softcap = 3;
    LogprobOptions options{.temperature = 0.7, .entropy = true, .tile = 20};
    const Outcome want = outcome(p, Form::Chunked, options, type);
    options.keep = 7 * 41;
    const Outcome kept = outcome(p, Form::Chunked, options, type);
    EXPECT_TRUE(at::equal(kept.logprob, want.logprob));
    EXPECT_TRUE(at::equal(kept.d_hidden, want.d_hidden));
    EXPECT_TRUE(at::equal(kept.d_weight, want.d_weight));
    const at::Tensor weight = p.weight.to(type).detach().clone().requires_grad_();
    const at::Tensor hidden = p.hidden.to(type);
    LmHead head{weight, p.bias.to(type), p.softcap};
    head.weight_gradient = at::ones_like(weight.detach());
    const auto out = token_logprobs(hidden, head, p.targets, options);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    torch::autograd::backward({out->logprob, out->entropy}, {p.g.to(type), p.q.to(type)});
    EXPECT_FALSE(weight.grad().defined());
    EXPECT_LE((head.weight_gradient - 1 - want.d_weight).abs().max().item<double>(), 1e-5);
  }
}

TEST(TokenLogprobs, RefuseWhatDoesNotFit) {
  const Problem p = problem(3, 4, 10, true);
  const auto refusal = [&](const at::Tensor& hidden, const LmHead& head, const at::Tensor& targets,
                           const LogprobOptions& options) {
    return token_logprobs(hidden, head, targets, options).status().message();
  };
  EXPECT_THAT(refusal(p.hidden.t(), p.head(), p.targets, {}),
              HasSubstr("[4, 3] do not fit a head of shape [10, 4]"));
  EXPECT_THAT(refusal(p.hidden, p.head(), p.targets.narrow(0, 0, 2), {}),
              HasSubstr("targets must be int64 [3]"));
  EXPECT_THAT(refusal(p.hidden, p.head(), at::tensor({0, 10, 1}, at::kLong), {}),
              HasSubstr("target 10 of row 1 is not in a vocabulary of 10"));
  EXPECT_THAT(refusal(p.hidden, p.head(), at::tensor({0, 1, -1}, at::kLong), {}),
              HasSubstr("target -1 of row 2"));
  for (const double bad : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_THAT(refusal(p.hidden, p.head(), p.targets, {bad}), HasSubstr("temperature"));
  }
  EXPECT_THAT(refusal(p.hidden, {p.weight, p.bias.narrow(0, 0, 9)}, p.targets, {}),
              HasSubstr("bias of shape [9]"));
  EXPECT_THAT(refusal(p.hidden, {p.weight, {}, 0, 11}, p.targets, {}),
              HasSubstr("vocabulary of 11"));
}

}  // namespace
}  // namespace sluice
