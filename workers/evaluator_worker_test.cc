#include "workers/evaluator_worker.h"

#include "workers/test_bench.h"

#include <gmock/gmock.h>

#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::scripted;
using testing::settle;
using testing::settle_well;
using testing::weights_of;

const NetConfig kNet{.hidden = {8}};

class EvaluatorTest : public ::testing::Test {
 protected:
  void start(Evaluator spec) {
    spec.net = kNet;
    if (spec.env == Evaluator{}.env) spec.env = scripted(4, false);
    auto context = bench_.context({{Verb::Follows, "weights"}});
    publisher_.emplace(bench_.publisher());
    auto made = spec.make(context);
    ASSERT_TRUE(made.ok()) << made.status().message();
    worker_ = *std::move(made);
    net_ = *actor_critic_spec(*env_spec(spec.env), kNet);
  }
  void publish(int64_t step) {
    auto weights = weights_of(net_, step);
    const VersionTag tag = weights->tag;
    ASSERT_TRUE(publisher_->publish(std::move(weights), tag).ok());
  }

  Bench bench_;
  ActorCriticSpec net_;
  std::optional<LatestPublisher<Weights>> publisher_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(EvaluatorTest, ScoresWholeEpisodes) {
  start({.every = 10, .episodes = 3});
  publish(0);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  EXPECT_EQ(bench_.run.value("eval_return"), 1 + 2 + 3 + 4);
  EXPECT_EQ(bench_.run.value("eval_version"), 0);
}

TEST_F(EvaluatorTest, KeepsTheVersionItBeganWith) {
  start({.every = 1, .episodes = 2});
  publish(0);
  ASSERT_TRUE(worker_->step().ok());  // begins
  ASSERT_TRUE(worker_->step().ok());
  publish(1);
  ASSERT_TRUE(worker_->step().ok());
  ASSERT_TRUE(worker_->step().ok());
  ASSERT_TRUE(worker_->step().ok());
  EXPECT_EQ(bench_.run.value("eval_version"), 0);
  settle_well(*worker_);
  EXPECT_EQ(bench_.run.value("eval_version"), 1) << "and then comes the next";
}

TEST_F(EvaluatorTest, SkipsVersionsThatAreNotDue) {
  start({.every = 10, .episodes = 1});
  publish(0);
  settle_well(*worker_);
  publish(9);
  settle_well(*worker_);
  EXPECT_EQ(bench_.run.value("eval_version"), 0);
  publish(13);
  settle_well(*worker_);
  EXPECT_EQ(bench_.run.value("eval_version"), 13);
  publish(19);
  settle_well(*worker_);
  EXPECT_EQ(bench_.run.value("eval_version"), 13) << "the next is due at 20";
}

TEST_F(EvaluatorTest, DrainScoresTheLastVersion) {
  start({.every = 10, .episodes = 1});
  publish(0);
  settle_well(*worker_);
  publish(7);
  worker_->drain();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(bench_.run.value("eval_version"), 7);
}

TEST_F(EvaluatorTest, ReachingTheTargetStopsTheRun) {
  start({.episodes = 2, .has_target = true, .target = 10});
  publish(0);
  settle_well(*worker_);
  EXPECT_TRUE(bench_.run.stop_requested());
  EXPECT_THAT(bench_.run.stop_reason(), HasSubstr("10.0 reached the target 10.0"));
}

TEST_F(EvaluatorTest, MissingTheTargetDoesNot) {
  start({.episodes = 2, .has_target = true, .target = 10.5});
  publish(0);
  settle_well(*worker_);
  EXPECT_EQ(bench_.run.value("eval_return"), 10);
  EXPECT_FALSE(bench_.run.stop_requested());
}

std::vector<double> returns_of(const std::string& env, uint64_t seed) {
  PolicyModel model(*actor_critic_spec(*env_spec(env), kNet), RandomKey(1));
  const auto weights = weights_of(*actor_critic_spec(*env_spec(env), kNet), 0);
  EXPECT_TRUE(model.install(*weights).ok());
  auto evaluation = Evaluation::begin(env, 6, RandomKey(seed));
  EXPECT_TRUE(evaluation.ok());
  while (*evaluation->step(model)) {
  }
  return evaluation->score().returns;
}

TEST(Evaluation, SameKeyGivesTheSameEpisodes) {
  EXPECT_EQ(returns_of("CartPole-v1", 1), returns_of("CartPole-v1", 1));
  EXPECT_NE(returns_of("Pendulum-v1", 1), returns_of("Pendulum-v1", 2));
}

TEST(Evaluation, TruncatedEpisodesEndToo) {
  EXPECT_THAT(returns_of(scripted(5, true), 1), Each(1 + 2 + 3 + 4 + 5));
}

TEST(EpisodeScore, MeanAndDeviationAreThoseOfThePopulation) {
  EpisodeScore score;
  EXPECT_EQ(score.mean(), 0);
  score.returns = {1, 3, 5, 7};
  EXPECT_EQ(score.mean(), 4);
  EXPECT_DOUBLE_EQ(score.deviation() * score.deviation(), 5);
}

}  // namespace
}  // namespace sluice
