#include "trainer/lm/lm_learner.h"

#include "models/transformer/golden_support.h"
#include "models/transformer/lora/model_layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

using testing::HasSubstr;

Transformer tiny(const std::string& name = "llama") {
  auto loaded = golden::load(name);
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  return std::move(loaded->model);
}

std::unique_ptr<LmLearner> learner_of(const LmLearnerConfig& config,
                                      const std::string& name = "llama") {
  auto learner = LmLearner::create(tiny(name), config);
  EXPECT_TRUE(learner.ok()) << learner.status().to_string();
  return *std::move(learner);
}

const std::vector<TrainSequence> kGroups = {
    {{1, 5, 7, 9}, {{3, 4, 5}, {8}, {2, 6}}},
    {{2, 2}, {{11, 12}, {13, 14, 15, 16}}},
    {{4, 8, 3}, {{10}, {1, 3}}},
};
constexpr double kTokens = 15;  // responses of all groups

/// Mean negative log-prob over the tokens of all groups.
at::Tensor cross_entropy(const MicroOutputs& out, std::span<const size_t>) {
  return -out.logprob.sum() / kTokens;
}

LmLearnerConfig fast() {
  LmLearnerConfig config;
  config.learning_rate = 1e-2;
  return config;
}

std::vector<at::Tensor> weights(const LmLearner& learner) {
  std::vector<at::Tensor> copies;
  for (const auto& entry : learner.parameters()) copies.push_back(entry.tensor.detach().clone());
  return copies;
}

double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, (a[i] - b[i]).abs().max().item<double>());
  }
  return most;
}

TEST(LmLearner, LogprobsAreThoseOfEverySequenceAlone) {
  const auto learner = learner_of(fast());
  const auto got = learner->logprobs(kGroups);
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  const at::NoGradGuard no_grad;
  for (size_t g = 0; g < kGroups.size(); ++g) {
    std::vector<at::Tensor> want;
    for (const auto& response : kGroups[g].responses) {
      std::vector<int64_t> whole = kGroups[g].prompt;
      whole.insert(whole.end(), response.begin(), response.end());
      const at::Tensor all =
          learner->model().logits(learner->model().forward(pack({whole}))).log_softmax(-1);
      for (size_t j = 0; j < response.size(); ++j) {
        const auto row = static_cast<int64_t>(kGroups[g].prompt.size() + j) - 1;
        want.push_back(all[row][response[j]]);
      }
    }
    EXPECT_LE(((*got)[g] - at::stack(want)).abs().max().item<double>(), 1e-5) << g;
  }
}

TEST(LmLearner, GivesTheLossItsTokensAndGroups) {
  const auto learner = learner_of(fast());
  const auto old = learner->logprobs(kGroups);
  int64_t calls = 0;
  const auto loss = [&](const MicroOutputs& out, std::span<const size_t> groups) {
    ++calls;
    EXPECT_EQ(groups.size(), 3U);
    std::vector<at::Tensor> parts;
    for (const size_t g : groups) parts.push_back((*old)[g]);
    EXPECT_LE((out.logprob.detach() - at::cat(parts)).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(out.sequence.max().item<int64_t>(), 6);
    EXPECT_TRUE(out.entropy.defined() && out.entropy.requires_grad());
    EXPECT_GT(out.entropy.min().item<double>(), 0);
    return cross_entropy(out, groups);
  };
  const auto stats = learner->step(kGroups, loss, true);
  ASSERT_TRUE(stats.ok()) << stats.status().to_string();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stats->response_tokens, 15);
  EXPECT_EQ(stats->rows, 17);  // 9 of prompts; of each response all tokens but the last
  EXPECT_EQ(stats->step, 1);
  EXPECT_EQ(stats->learning_rate, 1e-2);
}

TEST(LmLearner, MicroBatchesAddUpToTheWhole) {
  std::vector<std::vector<at::Tensor>> results;
  std::vector<LmStepStats> all;
  for (const int64_t budget : {64, 13, 7}) {
    LmLearnerConfig config = fast();
    config.token_budget = budget;
    const auto learner = learner_of(config);
    const auto stats = learner->step(kGroups, cross_entropy);
    ASSERT_TRUE(stats.ok()) << stats.status().to_string();
    all.push_back(*stats);
    std::vector<at::Tensor> gradients;
    for (const auto& entry : learner->parameters())
      gradients.push_back(entry.tensor.grad().clone());
    results.push_back(std::move(gradients));
  }
  EXPECT_EQ(all[0].micro_batches, 1);
  EXPECT_EQ(all[1].micro_batches, 2);
  EXPECT_EQ(all[2].micro_batches, 3);
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_NEAR(all[i].loss, all[0].loss, 1e-6);
    EXPECT_LE(distance(results[i], results[0]), 5e-6);
  }
}

TEST(LmLearner, SharedAndOwnPromptsGiveOneGradient) {
  std::vector<std::vector<at::Tensor>> results;
  for (const bool share : {true, false}) {
    LmLearnerConfig config = fast();
    config.share_prompts = share;
    const auto learner = learner_of(config);
    const auto stats = learner->step(kGroups, cross_entropy);
    ASSERT_TRUE(stats.ok());
    EXPECT_EQ(stats->rows, share ? 17 : 30);
    std::vector<at::Tensor> gradients;
    for (const auto& entry : learner->parameters())
      gradients.push_back(entry.tensor.grad().clone());
    results.push_back(std::move(gradients));
  }
  EXPECT_LE(distance(results[1], results[0]), 1e-6);
}

TEST(LmLearner, FallsBackToOwnPromptsWhereAModelNeedsSequencesWhole) {
  const auto learner = learner_of(fast(), "qwen3_next");
  const auto stats = learner->step(kGroups, cross_entropy);
  ASSERT_TRUE(stats.ok()) << stats.status().to_string();
  EXPECT_EQ(stats->rows, 30);
}

TEST(LmLearner, OverfitsTwoSequences) {
  LmLearnerConfig config = fast();
  config.learning_rate = 5e-3;
  const auto learner = learner_of(config);
  const std::vector<TrainSequence> groups = {{{1, 2, 3}, {{4, 5, 6, 7}}}, {{3, 2, 1}, {{9, 8}}}};
  const auto loss = [](const MicroOutputs& out, std::span<const size_t>) {
    return -out.logprob.sum() / 6;
  };
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    const auto stats = learner->step(groups, loss);
    ASSERT_TRUE(stats.ok());
    if (i == 0) first = stats->loss;
    last = stats->loss;
  }
  EXPECT_GT(first, 1);
  EXPECT_LT(last, 0.05);
}

TEST(LmLearner, ResumesFromItsStateBitForBit) {
  LmLearnerConfig config = fast();
  config.schedule = {LrShape::Linear, 2, 10, 0, 0.1};
  config.adam.weight_decay = 0.1;
  const auto six = learner_of(config);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(six->step(kGroups, cross_entropy).ok());
  std::vector<Parameters::Entry> state;
  {
    const auto three = learner_of(config);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(three->step(kGroups, cross_entropy).ok());
    state = three->state();
  }
  const auto resumed = learner_of(config);
  ASSERT_TRUE(resumed->load_state(state).ok());
  EXPECT_EQ(resumed->steps(), 3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(resumed->step(kGroups, cross_entropy).ok());
  EXPECT_EQ(distance(weights(*resumed), weights(*six)), 0);
  EXPECT_EQ(resumed->steps(), 6);
}

TEST(LmLearner, RefusesAStateThatIsNotItsOwnAndStaysAsItWas) {
  const auto learner = learner_of(fast());
  const auto before = weights(*learner);
  auto state = learner->state();
  for (auto& entry : state) {
    if (entry.tensor.is_floating_point()) entry.tensor.add_(1);
  }
  auto missing = state;
  missing.erase(missing.begin() + 1);
  EXPECT_THAT(learner->load_state(missing).message(), HasSubstr(state[1].name));
  auto unknown = state;
  unknown.push_back({"adam_m.nobody", at::zeros({1})});
  EXPECT_THAT(learner->load_state(unknown).message(), HasSubstr("adam_m.nobody"));
  auto misshapen = state;
  misshapen[1].tensor = at::zeros({3});
  EXPECT_THAT(learner->load_state(misshapen).message(), HasSubstr("is [3], not ["));
  EXPECT_EQ(distance(weights(*learner), before), 0);
}

TEST(LmLearner, SkipsAStepWithoutAFiniteLossOrGradient) {
  const auto learner = learner_of(fast());
  const auto before = weights(*learner);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto bad_loss = [&](const MicroOutputs& out, std::span<const size_t>) {
    return out.logprob.sum() * nan;
  };
  // The square root's slope at 0 is infinite where the loss is 0.
  const auto bad_gradient = [](const MicroOutputs& out, std::span<const size_t>) {
    return (out.logprob - out.logprob.detach()).sqrt().sum();
  };
  for (const MicroLoss& loss : {MicroLoss(bad_loss), MicroLoss(bad_gradient)}) {
    const auto stats = learner->step(kGroups, loss);
    ASSERT_TRUE(stats.ok());
    EXPECT_TRUE(stats->skipped);
    EXPECT_EQ(stats->step, 0);
  }
  EXPECT_EQ(distance(weights(*learner), before), 0);
  const auto stats = learner->step(kGroups, cross_entropy);
  ASSERT_TRUE(stats.ok());
  EXPECT_FALSE(stats->skipped);
  EXPECT_EQ(stats->skipped_steps, 2);
  EXPECT_EQ(stats->step, 1);
  for (const auto& w : weights(*learner)) EXPECT_TRUE(w.isfinite().all().item<bool>());
}

TEST(LmLearner, TakesALossThatNothingReaches) {
  const auto learner = learner_of(fast());
  const auto before = weights(*learner);
  const auto stats = learner->step(
      kGroups, [](const MicroOutputs&, std::span<const size_t>) { return at::zeros({}); });
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->grad_norm, 0);
  EXPECT_EQ(distance(weights(*learner), before), 0);
}

TEST(LmLearner, ClipsTheGradientAndFollowsTheSchedule) {
  LmLearnerConfig config = fast();
  config.max_grad_norm = 1e-3;
  config.adam.beta1 = 0;
  config.schedule = {LrShape::Constant, 4, 0, 0, 0.1};
  const auto learner = learner_of(config);
  const auto stats = learner->step(kGroups, cross_entropy);
  ASSERT_TRUE(stats.ok());
  EXPECT_GT(stats->grad_norm, 1e-2);
  EXPECT_EQ(stats->learning_rate, 1e-2 / 4);
  // With beta1 = 0 the first moment is the gradient that the step was taken with.
  double squares = 0;
  for (const auto& entry : learner->state()) {
    if (entry.name.starts_with("adam_m.")) squares += entry.tensor.square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-6);
}

TEST(LmLearner, DecaysMatricesAndLeavesNormsAlone) {
  for (const bool all : {false, true}) {
    LmLearnerConfig config = fast();
    config.adam.weight_decay = 1;
    config.decay_all = all;
    const auto learner = learner_of(config);
    const auto before = weights(*learner);
    ASSERT_TRUE(learner
                    ->step(kGroups, [](const MicroOutputs&,
                                       std::span<const size_t>) { return at::zeros({}); })
                    .ok());
    for (size_t i = 0; i < before.size(); ++i) {
      const auto& entry = learner->parameters()[i];
      const bool decayed = all || before[i].dim() > 1;
      EXPECT_LE((entry.tensor - before[i] * (decayed ? 0.99 : 1)).abs().max().item<double>(), 1e-7)
          << entry.name;
    }
  }
}

TEST(LmLearner, RecomputesLayersWithTheSameGradient) {
  std::vector<std::vector<at::Tensor>> results;
  for (const bool again : {true, false}) {
    LmLearnerConfig config = fast();
    config.recompute = again;
    const auto learner = learner_of(config);
    ASSERT_TRUE(learner->step(kGroups, cross_entropy).ok());
    results.push_back(weights(*learner));
  }
  EXPECT_EQ(distance(results[0], results[1]), 0);
}

TEST(LmLearner, MakesLogitsAgainWithTheSameGradient) {
  std::vector<std::vector<at::Tensor>> results;
  for (const int64_t keep : {0, 1 << 20}) {
    LmLearnerConfig config = fast();
    config.keep_logits = keep;
    const auto learner = learner_of(config);
    ASSERT_TRUE(learner->step(kGroups, cross_entropy, true).ok());
    results.push_back(weights(*learner));
  }
  EXPECT_EQ(distance(results[0], results[1]), 0);
}

TEST(LmLearner, TrainsAdaptersAndLeavesTheModelAlone) {
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
      const auto stats = (*learner)->step(kGroups, cross_entropy);
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

TEST(LmLearner, TrainsAValueHeadBesideThePolicy) {
  LmLearnerConfig config = fast();
  config.value_head = true;
  const auto learner = learner_of(config);
  const auto before = learner->values(kGroups);
  ASSERT_TRUE(before.ok()) << before.status().to_string();
  EXPECT_EQ((*before)[1].numel(), 6);
  EXPECT_EQ((*before)[1].abs().max().item<double>(), 0);
  const auto towards_two = [](const MicroOutputs& out, std::span<const size_t>) {
    return (out.value - 2).square().sum() / kTokens;
  };
  double last = 0;
  for (int i = 0; i < 60; ++i) {
    const auto stats = learner->step(kGroups, towards_two);
    ASSERT_TRUE(stats.ok());
    last = stats->loss;
  }
  EXPECT_LT(last, 0.2);
  const auto after = learner->values(kGroups);
  EXPECT_NEAR((*after)[0].mean().item<double>(), 2, 0.5);
  EXPECT_EQ(learner_of(fast())->values(kGroups).status().code(), Code::FailedPrecondition);
}

TEST(LmLearner, TrainsACriticOfItsOwn) {
  TransformerConfig config = tiny().config();
  config.head = HeadKind::Value;
  Transformer critic(config, Parameters::random(config, RandomKey(3)));
  auto learner = LmLearner::create(std::move(critic), fast());
  ASSERT_TRUE(learner.ok()) << learner.status().to_string();
  EXPECT_EQ((*learner)->logprobs(kGroups).status().code(), Code::FailedPrecondition);
  const auto loss = [](const MicroOutputs& out, std::span<const size_t>) {
    EXPECT_FALSE(out.logprob.defined());
    return (out.value - 1).square().sum() / kTokens;
  };
  const auto first = (*learner)->step(kGroups, loss);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE((*learner)->step(kGroups, loss).ok());
  const auto last = (*learner)->step(kGroups, loss);
  EXPECT_LT(last->loss, first->loss / 2);
}

TEST(LmLearner, NamesWhatItCannotTrainOn) {
  LmLearnerConfig config = fast();
  config.token_budget = 6;
  const auto learner = learner_of(config);
  EXPECT_THAT(learner->step(kGroups, cross_entropy).status().message(),
              HasSubstr("group 0 has 7 tokens, more than the budget of 6"));
  const std::vector<TrainSequence> outside = {{{1}, {{100000}}}};
  EXPECT_THAT(learner->logprobs(outside).status().message(), HasSubstr("token 100000"));
  config.schedule.shape = LrShape::Cosine;
  EXPECT_THAT(LmLearner::create(tiny(), config).status().message(), HasSubstr("total_steps"));
  config = fast();
  config.learning_rate = -1;
  EXPECT_FALSE(LmLearner::create(tiny(), config).ok());
  EXPECT_EQ(LmLearner::create(tiny("llama_classifier"), fast()).status().code(),
            Code::FailedPrecondition);
}

}  // namespace
}  // namespace sluice
