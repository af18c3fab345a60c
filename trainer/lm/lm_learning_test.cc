// Many steps of the learner: what a model, its adapters and a critic come to.
#include "models/transformer/lora/model_layers.h"
#include "trainer/lm/lm_learner_support.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace lm_test;  // NOLINT(google-build-using-namespace)

TEST(LmLearning, OverfitsTwoSequences) {
  LmLearnerConfig config = fast();
  config.learning_rate = 5e-3;
  const auto learner = learner_of(config);
  const std::vector<TrainSequence> two = {{{1, 2, 3}, {{4, 5, 6, 7}}}, {{3, 2, 1}, {{9, 8}}}};
  const auto loss = [](const MicroOutputs& out, std::span<const size_t>) {
    return -out.logprob.sum() / 6;
  };
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    const auto stats = learner->step(two, loss);
    ASSERT_TRUE(stats.ok());
    if (i == 0) first = stats->loss;
    last = stats->loss;
  }
  EXPECT_GT(first, 1);
  EXPECT_LT(last, 0.05);
}

TEST(LmLearning, ResumesFromItsStateBitForBit) {
  LmLearnerConfig config = fast();
  config.schedule = {LrShape::Linear, 2, 10, 0, 0.1};
  config.adam.weight_decay = 0.1;
  const auto six = learner_of(config);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(six->step(groups(), cross_entropy).ok());
  std::vector<Parameters::Entry> state;
  {
    const auto three = learner_of(config);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(three->step(groups(), cross_entropy).ok());
    state = three->state();
  }
  const auto resumed = learner_of(config);
  ASSERT_TRUE(resumed->load_state(state).ok());
  EXPECT_EQ(resumed->steps(), 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(resumed->step(groups(), cross_entropy).ok());
  EXPECT_EQ(distance(weights(*resumed), weights(*six)), 0);
  EXPECT_EQ(resumed->steps(), 6);
}

TEST(LmLearning, TrainsAdaptersAndLeavesTheModelAlone) {
  Transformer model = tiny();
  const Parameters parameters = model.parameters();
  const at::Tensor q = parameters.at("model.layers.0.self_attn.q_proj.weight").clone();
  LoraConfig config;
  config.rank = 4;
  config.targets.pattern = LoraConfig::kAllLinear;
  auto lora = LoraSet::create(config, lora_layers(model), RandomKey(1));
  ASSERT_TRUE(lora.ok()) << lora.status().to_string();
  for (const bool recompute : {false, true}) {
    LmLearnerConfig settings = fast();
    settings.recompute = recompute;
    auto fresh = LoraSet::create(config, lora_layers(model), RandomKey(1));
    auto learner = LmLearner::create(tiny(), *fresh, settings);
    ASSERT_TRUE(learner.ok()) << learner.status().to_string();
    EXPECT_EQ((*learner)->parameters().size(), fresh->parameters().size());
    double first = 0, last = 0;
    for (int i = 0; i < 20; ++i) {
      const auto stats = (*learner)->step(groups(), cross_entropy);
      ASSERT_TRUE(stats.ok()) << stats.status().to_string();
      if (i == 0) first = stats->loss;
      last = stats->loss;
    }
    EXPECT_LT(last, first - 0.5);
    EXPECT_GT(fresh->adapters().begin()->second.b.abs().max().item<double>(), 0);
    EXPECT_TRUE(at::equal(
        (*learner)->model().parameters().at("model.layers.0.self_attn.q_proj.weight"), q));
  }
}

TEST(LmLearning, TrainsAValueHeadBesideThePolicy) {
  LmLearnerConfig config = fast();
  config.value_head = true;
  const auto learner = learner_of(config);
  const auto before = learner->values(groups());
  ASSERT_TRUE(before.ok()) << before.status().to_string();
  EXPECT_EQ((*before)[1].numel(), 6);
  EXPECT_EQ((*before)[1].abs().max().item<double>(), 0);
  const auto towards_two = [](const MicroOutputs& out, std::span<const size_t>) {
    return (out.value - 2).square().sum() / kTokens;
  };
  double last = 0;
  for (int i = 0; i < 60; ++i) {
    const auto stats = learner->step(groups(), towards_two);
    ASSERT_TRUE(stats.ok());
    last = stats->loss;
  }
  EXPECT_LT(last, 0.2);
  const auto after = learner->values(groups());
  EXPECT_NEAR((*after)[0].mean().item<double>(), 2, 0.5);
  EXPECT_EQ(learner_of(fast())->values(groups()).status().code(), Code::FailedPrecondition);
}

TEST(LmLearning, TrainsACriticOfItsOwn) {
  TransformerConfig config = tiny().config();
  config.head = HeadKind::Value;
  Transformer critic(config, Parameters::random(config, RandomKey(3)));
  auto learner = LmLearner::create(std::move(critic), fast());
  ASSERT_TRUE(learner.ok()) << learner.status().to_string();
  EXPECT_EQ((*learner)->logprobs(groups()).status().code(), Code::FailedPrecondition);
  const auto loss = [](const MicroOutputs& out, std::span<const size_t>) {
    EXPECT_FALSE(out.logprob.defined());
    return (out.value - 1).square().sum() / kTokens;
  };
  const auto first = (*learner)->step(groups(), loss);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE((*learner)->step(groups(), loss).ok());
  const auto last = (*learner)->step(groups(), loss);
  EXPECT_LT(last->loss, first->loss / 2);
}

}  // namespace
}  // namespace sluice
