#include "workers/llm/group_learner.h"

#include "models/io/checkpoint.h"
#include "models/transformer/loading.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

GroupLearnerConfig config() {
  GroupLearnerConfig c;
  c.learner.learning_rate = 1e-2;
  return c;
}

std::unique_ptr<LmLearner> tiny(const LmLearnerConfig& c) {
  auto checkpoint =
      Checkpoint::open(fmt::format("{}/models/io/testdata/tiny_llama", SLUICE_SOURCE_DIR));
  EXPECT_TRUE(checkpoint.ok());
  auto model = load_transformer(**checkpoint);
  EXPECT_TRUE(model.ok());
  auto learner = LmLearner::create(*std::move(model), c);
  EXPECT_TRUE(learner.ok()) << learner.status().message();
  return *std::move(learner);
}

GroupLearner make(const GroupLearnerConfig& c) {
  std::unique_ptr<LmLearner> reference = c.algorithm.needs_reference() ? tiny(c.learner) : nullptr;
  return {c, tiny(c.learner), std::move(reference), RealClock::instance()};
}

TokenRollout rollout(std::vector<int64_t> tokens, double reward) {
  TokenRollout r;
  r.logprobs.assign(tokens.size(), -5.0F);
  r.tokens = std::move(tokens);
  r.score.reward = reward;
  return r;
}

std::shared_ptr<Group> group(int64_t number, std::vector<TokenRollout> rollouts) {
  auto g = std::make_shared<Group>();
  g->prompt.number = number;
  g->prompt.tokens = {5, 6, 7 + number};
  g->rollouts = std::move(rollouts);
  return g;
}

using Items = std::vector<std::shared_ptr<const Group>>;

void learn(GroupLearner& learner, const Items& items) {
  ASSERT_TRUE(learner.begin(items).ok());
  for (;;) {
    const auto more = learner.step();
    ASSERT_TRUE(more.ok()) << more.status().message();
    if (!*more) return;
  }
}

double stat(const GroupLearner& learner, std::string_view name) {
  for (const auto& [key, value] : learner.stats()) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double logprob(const GroupLearner& learner, const Group& g, size_t i) {
  const TrainSequence one{g.prompt.tokens, {g.rollouts[i].tokens}};
  const auto scored = learner.learner().logprobs({&one, 1});
  EXPECT_TRUE(scored.ok());
  return (*scored)[0].sum().item<double>();
}

uint64_t bits(const GroupLearner& learner) { return learner.weights().digest(); }

TEST(GroupLearner, MakesWhatWasRewardedLikelierAndTheRestLess) {
  GroupLearner learner = make(config());
  const auto g = group(0, {rollout({10, 11}, 1), rollout({12, 13, 14}, 0)});
  const double good = logprob(learner, *g, 0);
  const double bad = logprob(learner, *g, 1);
  for (int i = 0; i < 3; ++i) learn(learner, {g});
  EXPECT_GT(logprob(learner, *g, 0), good);
  EXPECT_LT(logprob(learner, *g, 1), bad);
  EXPECT_EQ(stat(learner, "reward"), 0.5);
  EXPECT_EQ(stat(learner, "completion_tokens"), 2.5);
  EXPECT_EQ(stat(learner, "updates"), 3);
  EXPECT_EQ(stat(learner, "ratio"), 1);
}

TEST(GroupLearner, EqualRewardsChangeNothingAndAreCounted) {
  GroupLearner learner = make(config());
  const uint64_t before = bits(learner);
  learn(learner, {group(0, {rollout({10, 11}, 0.1), rollout({12}, 0.1), rollout({13}, 0.1)})});
  EXPECT_EQ(bits(learner), before);
  EXPECT_EQ(stat(learner, "zero_variance"), 1);
  EXPECT_EQ(stat(learner, "loss"), 0);
  EXPECT_EQ(stat(learner, "updates"), 0);
}

TEST(GroupLearner, AFailedCompletionIsAsIfItHadNotBeenDrawn) {
  TokenRollout failed = rollout({15, 16, 17}, 0);
  failed.score.failed = true;
  GroupLearner with = make(config());
  learn(with, {group(0, {rollout({10, 11}, 1), failed, rollout({12}, 0)})});
  GroupLearner without = make(config());
  learn(without, {group(0, {rollout({10, 11}, 1), rollout({12}, 0)})});
  EXPECT_EQ(bits(with), bits(without));
  EXPECT_NEAR(stat(with, "failed"), 1.0 / 3, 1e-12);
  EXPECT_EQ(stat(with, "reward"), 0.5);
}

TEST(GroupLearner, AGroupOfWhichNothingIsLeftIsLeftOut) {
  TokenRollout failed = rollout({15}, std::numeric_limits<double>::quiet_NaN());
  failed.score.failed = true;
  GroupLearner learner = make(config());
  const uint64_t before = bits(learner);
  learn(learner, {group(0, {failed, failed})});
  EXPECT_EQ(bits(learner), before);
  EXPECT_EQ(stat(learner, "groups_lost"), 1);
}

TEST(GroupLearner, TruncatedCompletionsCanBeMasked) {
  TokenRollout cut = rollout({15, 16, 17}, 0);
  cut.truncated = true;
  GroupLearnerConfig masked = config();
  masked.algorithm.mask_truncated = true;
  GroupLearner a = make(masked);
  const auto g = group(0, {rollout({10, 11}, 1), cut});
  const double before = logprob(a, *g, 1);
  learn(a, {g});
  GroupLearner b = make(config());
  learn(b, {g});
  EXPECT_LT(std::abs(logprob(a, *g, 1) - before), std::abs(logprob(b, *g, 1) - before));
  EXPECT_EQ(stat(a, "truncated"), 0.5);
}

TEST(GroupLearner, MinibatchesAreUpdatesOfTheirOwnAndLaterOnesHaveRatios) {
  GroupLearnerConfig two = config();
  two.minibatches = 2;
  GroupLearner learner = make(two);
  learn(learner, {group(0, {rollout({10, 11}, 1), rollout({12}, 0)}),
                  group(1, {rollout({10, 13}, 1), rollout({12}, 0)})});
  EXPECT_EQ(stat(learner, "updates"), 2);
  EXPECT_NE(stat(learner, "ratio"), 1) << "the first update moved the second's tokens";
  std::vector<std::string> problems;
  two.check(3, problems);
  EXPECT_EQ(problems.size(), 1U) << "3 groups are not 2 minibatches";
}

TEST(GroupLearner, TheReferenceHoldsBack) {
  GroupLearnerConfig held = config();
  held.algorithm.policy.kl_coef = 10;
  held.epochs = 8;
  GroupLearner a = make(held);
  const auto g = group(0, {rollout({10, 11}, 1), rollout({12, 13}, 0)});
  const double before = logprob(a, *g, 0);
  learn(a, {g});
  GroupLearnerConfig free = config();
  free.epochs = 8;
  GroupLearner b = make(free);
  learn(b, {g});
  EXPECT_LT(logprob(a, *g, 0) - before, logprob(b, *g, 0) - before);
  EXPECT_GT(stat(a, "reference_kl"), 0);
}

TEST(GroupLearner, GoesOnFromASavedStateBitForBit) {
  const auto g = group(0, {rollout({10, 11}, 1), rollout({12}, 0)});
  GroupLearner whole = make(config());
  learn(whole, {g});
  Snapshot state;
  ASSERT_TRUE(whole.save(state).ok());
  learn(whole, {g});
  GroupLearner again = make(config());
  ASSERT_TRUE(again.load(state).ok());
  learn(again, {g});
  EXPECT_EQ(bits(again), bits(whole));
}

}  // namespace
}  // namespace sluice
