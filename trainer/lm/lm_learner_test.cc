#include "trainer/lm/lm_learner.h"

#include "trainer/lm/lm_learner_support.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

using namespace lm_test;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

TEST(LmLearner, LogprobsAreThoseOfEverySequenceAlone) {
  const auto learner = learner_of(fast());
  const auto got = learner->logprobs(groups());
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  const at::NoGradGuard no_grad;
  for (size_t g = 0; g < groups().size(); ++g) {
    std::vector<at::Tensor> want;
    for (const auto& response : groups()[g].responses) {
      std::vector<int64_t> whole = groups()[g].prompt;
      whole.insert(whole.end(), response.begin(), response.end());
      const at::Tensor all =
          learner->model().logits(learner->model().forward(pack({whole}))).log_softmax(-1);
      for (size_t j = 0; j < response.size(); ++j) {
        const auto row = static_cast<int64_t>(groups()[g].prompt.size() + j) - 1;
        want.push_back(all[row][response[j]]);
      }
    }
    EXPECT_LE(((*got)[g] - at::stack(want)).abs().max().item<double>(), 1e-5) << g;
  }
}

TEST(LmLearner, GivesTheLossItsTokensAndGroups) {
  const auto learner = learner_of(fast());
  const auto old = learner->logprobs(groups());
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
  const auto stats = learner->step(groups(), loss, true);
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
    const auto stats = learner->step(groups(), cross_entropy);
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
    const auto stats = learner->step(groups(), cross_entropy);
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
  const auto stats = learner->step(groups(), cross_entropy);
  ASSERT_TRUE(stats.ok()) << stats.status().to_string();
  EXPECT_EQ(stats->rows, 30);
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
    const auto stats = learner->step(groups(), loss);
    ASSERT_TRUE(stats.ok());
    EXPECT_TRUE(stats->skipped);
    EXPECT_EQ(stats->step, 0);
  }
  EXPECT_EQ(distance(weights(*learner), before), 0);
  const auto stats = learner->step(groups(), cross_entropy);
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
      groups(), [](const MicroOutputs&, std::span<const size_t>) { return at::zeros({}); });
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
  const auto stats = learner->step(groups(), cross_entropy);
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
                    ->step(groups(), [](const MicroOutputs&,
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
    ASSERT_TRUE(learner->step(groups(), cross_entropy).ok());
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
    ASSERT_TRUE(learner->step(groups(), cross_entropy, true).ok());
    results.push_back(weights(*learner));
  }
  EXPECT_EQ(distance(results[0], results[1]), 0);
}

TEST(LmLearner, NamesWhatItCannotTrainOn) {
  LmLearnerConfig config = fast();
  config.token_budget = 6;
  const auto learner = learner_of(config);
  EXPECT_THAT(learner->step(groups(), cross_entropy).status().message(),
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
