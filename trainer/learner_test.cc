#include "trainer/learner.h"

#include "models/nets/distributions.h"
#include "trainer/autograd_learner.h"
#include "trainer/fused_learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

ActorCriticSpec discrete() { return {4, {64, 64}, Head::categorical(3), Activation::Tanh}; }
ActorCriticSpec continuous() { return {5, {20, 9}, Head::gaussian(2, -0.3F), Activation::Relu}; }

PpoConfig config() {
  PpoConfig c;
  c.entropy_coef = 0.01;
  c.value_clip = 0.2;
  c.epochs = 2;
  c.minibatches = 2;
  return c;
}

// Made-up experience of `net`: its own actions and values, random advantages.
struct Experience {
  Experience(const ActorCritic& net, int64_t rows, uint64_t seed) {
    const ActorCriticSpec& spec = net.spec();
    const auto n = static_cast<size_t>(rows);
    const RandomKey key(seed);
    observation.resize(n * static_cast<size_t>(spec.observation));
    for (size_t i = 0; i < observation.size(); ++i) observation[i] = key.normal(i)[0];
    std::vector<float> head(n * static_cast<size_t>(spec.head.size));
    value.resize(n);
    choice.resize(n);
    action.resize(head.size());
    log_prob.resize(n);
    ActorCriticScratch scratch(net);
    net.forward(observation.data(), rows, scratch, head.data(), value.data());
    std::vector<RandomKey> keys;
    std::vector<uint64_t> steps(n, 3);
    for (size_t i = 0; i < n; ++i) keys.push_back(key.split(i));
    sample_actions(spec.head, head.data(), net.log_std(), rows, keys.data(), steps.data(),
                   {choice.data(), action.data()}, log_prob.data());
    for (size_t i = 0; i < n; ++i) {
      advantage.push_back(key.split("advantage").normal(i)[0]);
      returns.push_back(value[i] + key.split("return").normal(i)[0]);
    }
    batch = {rows,         observation.data(), choice.data(), action.data(), log_prob.data(),
             value.data(), advantage.data(),   returns.data()};
  }
  Experience(const Experience&) = delete;
  Experience& operator=(const Experience&) = delete;
  std::vector<float> observation, value, action, log_prob, advantage, returns;
  std::vector<int64_t> choice;
  LearnBatch batch;
};

double stat(const Learner& learner, std::string_view name) {
  for (const auto& [key, value] : learner.stats()) {
    if (key == name) return value;
  }
  return std::nan("");
}

bool same(const ActorCritic& a, const ActorCritic& b) {
  return std::memcmp(a.parameters().data(), b.parameters().data(),
                     static_cast<size_t>(a.parameters().size()) * sizeof(float)) == 0;
}

TEST(Learners, FusedAndAutogradReachTheSameParameters) {
  for (const ActorCriticSpec& spec : {discrete(), continuous()}) {
    ActorCritic a(spec, RandomKey(1)), b(spec, RandomKey(1)), start(spec, RandomKey(1));
    Ppo ppo(config());
    FusedPpoLearner fused(a, config(), RandomKey(5));
    AutogradLearner reference(b, ppo, update_config(config()), RandomKey(5));
    for (uint64_t i = 0; i < 3; ++i) {
      const Experience e(b, 600, i);
      ASSERT_TRUE(fused.update(e.batch, 1e-3).ok());
      ASSERT_TRUE(reference.update(e.batch, 1e-3).ok());
    }
    double worst = 0, moved = 0;
    for (int64_t i = 0; i < a.parameters().size(); ++i) {
      const double x = static_cast<double>(a.parameters().data()[i]);
      worst = std::max(worst, std::abs(x - static_cast<double>(b.parameters().data()[i])));
      moved = std::max(moved, std::abs(x - static_cast<double>(start.parameters().data()[i])));
    }
    EXPECT_LT(worst, 2e-5);
    EXPECT_GT(moved, 5e-3);
    for (const char* name :
         {"policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "grad_norm"}) {
      EXPECT_NEAR(stat(fused, name), stat(reference, name),
                  2e-4 * (1 + std::abs(stat(reference, name))))
          << name;
    }
    EXPECT_EQ(stat(fused, "minibatches"), 4);
  }
}

TEST(FusedPpoLearner, TheNumberOfThreadsChangesNoBit) {
  ActorCritic one(discrete(), RandomKey(1)), two(discrete(), RandomKey(1)),
      three(discrete(), RandomKey(1));
  FusedPpoLearner a(one, config(), RandomKey(5), 1), b(two, config(), RandomKey(5), 2),
      c(three, config(), RandomKey(5), 3);
  const Experience e(one, 2 * 1100, 9);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.update(e.batch, 1e-3).ok());
    ASSERT_TRUE(b.update(e.batch, 1e-3).ok());
    ASSERT_TRUE(c.update(e.batch, 1e-3).ok());
    EXPECT_TRUE(same(one, two));
    EXPECT_TRUE(same(one, three));
  }
  EXPECT_EQ(stat(a, "policy_loss"), stat(b, "policy_loss"));
}

TEST(FusedPpoLearner, ResumesBitForBitFromASavedState) {
  ActorCritic x(continuous(), RandomKey(1)), y(continuous(), RandomKey(2));
  FusedPpoLearner a(x, config(), RandomKey(5)), b(y, config(), RandomKey(5));
  const Experience e(x, 96, 9);
  ASSERT_TRUE(a.update(e.batch, 1e-3).ok());
  const std::string saved = a.save();
  ASSERT_TRUE(b.load(saved).ok());
  EXPECT_TRUE(same(x, y));
  ASSERT_TRUE(a.update(e.batch, 1e-3).ok());
  ASSERT_TRUE(b.update(e.batch, 1e-3).ok());
  EXPECT_TRUE(same(x, y));
  EXPECT_EQ(a.save(), b.save());
  EXPECT_EQ(b.load(saved.substr(1)).code(), Code::DataLoss);
  EXPECT_EQ(b.load(saved.substr(0, saved.size() - 4)).code(), Code::DataLoss);
}

TEST(FusedPpoLearner, StepsOneMinibatchAtATime) {
  ActorCritic net(discrete(), RandomKey(1));
  FusedPpoLearner learner(net, config(), RandomKey(5));
  EXPECT_FALSE(learner.step());
  const Experience e(net, 64, 9);
  ASSERT_TRUE(learner.begin(e.batch, 1e-3).ok());
  EXPECT_TRUE(learner.step());
  EXPECT_TRUE(learner.step());
  EXPECT_TRUE(learner.step());
  EXPECT_FALSE(learner.step());
  EXPECT_FALSE(learner.step());
  EXPECT_EQ(learner.ppo_stats().minibatches, 4);
}

TEST(FusedPpoLearner, AKlBeyondTheTargetEndsTheUpdate) {
  PpoConfig c = config();
  c.target_kl = 1e-6;
  ActorCritic net(discrete(), RandomKey(1));
  FusedPpoLearner learner(net, c, RandomKey(5));
  const Experience e(net, 64, 9);
  ASSERT_TRUE(learner.update(e.batch, 0.1).ok());
  EXPECT_TRUE(learner.ppo_stats().stopped_early);
  EXPECT_LT(learner.ppo_stats().minibatches, 4);
}

TEST(FusedPpoLearner, RefusesABatchThatDoesNotDivideAndSaysTheNumbers) {
  ActorCritic net(discrete(), RandomKey(1));
  FusedPpoLearner learner(net, config(), RandomKey(5));
  Experience e(net, 65, 9);
  const Status status = learner.begin(e.batch, 1e-3);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.message().find("65 rows"), std::string::npos);
  e.batch.rows = 64;
  e.batch.choice = nullptr;
  EXPECT_EQ(learner.begin(e.batch, 1e-3).code(), Code::InvalidArgument);
}

TEST(FusedPpoLearner, MakesGoodActionsMoreLikely) {
  ActorCritic net(discrete(), RandomKey(1));
  FusedPpoLearner learner(net, config(), RandomKey(5));
  for (uint64_t i = 0; i < 30; ++i) {
    Experience e(net, 512, i);
    for (size_t r = 0; r < e.choice.size(); ++r) e.advantage[r] = e.choice[r] == 1 ? 1.0F : 0.0F;
    ASSERT_TRUE(learner.update(e.batch, 3e-3).ok());
  }
  const Experience after(net, 512, 77);
  int64_t good = 0;
  for (const int64_t choice : after.choice) good += choice == 1 ? 1 : 0;
  EXPECT_GT(good, 400);  // a third of 512 at the start
}

}  // namespace
}  // namespace sluice
