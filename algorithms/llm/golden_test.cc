#include "algorithms/llm/llm_algorithm.h"
#include "algorithms/llm/policy_loss.h"
#include "algorithms/llm/preference_loss.h"
#include "algorithms/llm/supervised_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <fstream>

// Numbers of verl 0.9.1 and TRL 1.16.0: testdata/make_llm_losses.py. Padded rectangles there,
// packed rows here; everything in double.
namespace sluice {
namespace {

using nlohmann::json;

const json& golden() {
  static const json kGolden = json::parse(
      std::ifstream(std::string(SLUICE_SOURCE_DIR) + "/algorithms/testdata/llm_losses.json"));
  return kGolden;
}

at::Tensor column(const json& values) {
  return at::tensor(values.get<std::vector<double>>(), at::TensorOptions(at::kDouble));
}
at::Tensor of_batch(const char* name) { return column(golden()["batch"][name]); }

at::Tensor mask() { return of_batch("mask") > .5; }
at::Tensor sequence() {
  const int64_t rows = golden()["shape"][0], width = golden()["shape"][1];
  return at::arange(rows, at::kLong).repeat_interleave(width);
}
Denominator denominator() { return count_tokens(mask(), sequence(), golden()["shape"][1]); }

void expect_near(const at::Tensor& got, const json& want, const std::string& name) {
  const at::Tensor expected = column(want);
  ASSERT_EQ(got.numel(), expected.numel()) << name;
  EXPECT_LT((got.detach().reshape({-1}) - expected).abs().max().item<double>(), 1e-6) << name;
}

void expect_graded(const at::Tensor& loss, const at::Tensor& x, const json& want,
                   const std::string& name) {
  EXPECT_NEAR(loss.item<double>(), want["loss"].get<double>(), 1e-6) << name;
  expect_near(torch::autograd::grad({loss}, {x})[0], want["gradient"], name);
}

struct Named {
  const char* name;
  PolicyLoss loss;
};
const Named kLosses[] = {{"clip", PolicyLoss::Clip},          {"dual-clip", PolicyLoss::Clip},
                         {"gspo", PolicyLoss::Gspo},          {"sapo", PolicyLoss::Sapo},
                         {"gmpo", PolicyLoss::Gmpo},          {"cispo", PolicyLoss::Cispo},
                         {"dppo", PolicyLoss::Dppo},          {"dro", PolicyLoss::Dro},
                         {"reinforce", PolicyLoss::Reinforce}};

TEST(Golden, PolicyLossesAndGradientsAreVerlsInEveryAggregation) {
  int compared = 0;
  for (const Named& named : kLosses) {
    for (const auto& [mode, aggregation] : aggregation_names()) {
      const std::string key = named.name + ("/" + mode);
      if (!golden()["verl"].contains(key)) continue;
      PolicyLossConfig c;
      c.loss = named.loss;
      c.aggregation = aggregation;
      c.clip_high = .28;
      if (key.starts_with("dual")) c.dual_clip = 1.5;
      TokenBatch b;
      b.logprob = of_batch("logprob").requires_grad_(true);
      b.old_logprob = of_batch("old");
      b.advantage = of_batch("advantage");
      b.mask = mask();
      b.sequence = sequence();
      expect_graded(policy_loss(c, b, denominator()).total, b.logprob, golden()["verl"][key], key);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 30);
}

TEST(Golden, KlEstimatesAndGradientsAreVerls) {
  for (const auto& [name, estimator] : kl_names()) {
    const at::Tensor x = of_batch("logprob").requires_grad_(true);
    const at::Tensor loss = aggregate(kl_estimate(x, of_batch("reference"), estimator), mask(),
                                      sequence(), Aggregation::TokenMean, denominator());
    expect_graded(loss, x, golden()["verl"]["kl/" + name], name);
  }
}

TEST(Golden, ValueLossIsVerls) {
  ValueLossConfig c;
  c.clip = .5;
  const ValueBatch b{of_batch("value").requires_grad_(true), of_batch("old_value"),
                     of_batch("returns"), mask(), sequence()};
  expect_graded(value_loss(c, b, denominator()).total, b.value, golden()["verl"]["value"], "value");
}

TEST(Golden, AdvantagesAreVerls) {
  const auto numbers = [](const char* name) {
    return golden()["batch"][name].get<std::vector<double>>();
  };
  const std::vector<double> reward = numbers("reward"), greedy = numbers("greedy");
  const auto group = golden()["batch"]["group"].get<std::vector<int64_t>>();
  RolloutSet set{reward,           group,      greedy,          {},
                 mask(),           sequence(), of_batch("old"), of_batch("reference"),
                 of_batch("value")};
  for (const char* name : {"grpo", "drgrpo", "rloo", "opo", "gpg", "pass@k", "reinforce++-baseline",
                           "reinforce++", "remax", "gae"}) {
    AdvantageConfig c;
    ConfigBinder b;
    c.bind(b);
    ASSERT_TRUE(b.set("rule", name, "test").ok());
    const std::string rule = name;
    c.whiten = rule == "gae" || rule.starts_with("reinforce++");
    if (rule == "gae") c.lambda = .8;
    if (rule == "gae" || rule == "reinforce++") c.gamma = .9;
    if (rule == "reinforce++") c.kl_coef = .1;
    expect_near(token_advantages(c, set).advantage, golden()["verl"]["advantage/" + rule], rule);
  }
}

TEST(Golden, AGroupOfOneIsZeroWhereVerlGivesItsReward) {
  // A divergence that is known: verl takes mean 0 and deviation 1, so that A = R.
  const std::vector<double> reward{1};
  const std::vector<int64_t> group{0};
  EXPECT_EQ(group_advantages(AdvantageRule::Grpo, {reward, group, {}, {}}).advantage[0], 0);
}

TEST(Golden, OrpoIsTrls) {
  const json& want = golden()["trl"]["orpo"];
  PreferenceConfig c;
  c.loss = PreferenceLoss::Orpo;
  const at::Tensor one = at::ones({4}, at::kDouble);
  const PreferencePairs pairs{column(want["chosen"]), column(want["rejected"]), {}, {}, one, one};
  EXPECT_NEAR(preference_loss(c, pairs, 4).total.item<double>(), want["loss"].get<double>(), 1e-6);
}

TEST(Golden, JensenShannonDistillationIsTrls) {
  const json& want = golden()["trl"]["jsd"];
  for (const char* beta : {"0", "0.3", "1"}) {
    const at::Tensor student = column(want["student"]).view({3, 5}).requires_grad_(true);
    const at::Tensor teacher = column(want["teacher"]).view({3, 5});
    const at::Tensor loss = distillation_divergence(student, teacher, std::stod(beta), .7).sum();
    expect_graded(loss, student, want[beta], beta);
  }
}

}  // namespace
}  // namespace sluice
