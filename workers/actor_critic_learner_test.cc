#include "workers/actor_critic_learner.h"

#include "workers/policy_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr int64_t kSteps = 4, kChunks = 2, kWidth = 2;
constexpr int64_t kAction = 1, kLogProb = 2, kValue = 3, kReward = 4, kTerminated = 5,
                  kTruncated = 6, kBootstrap = 7;

struct Columns {
  std::vector<float> observation, log_prob, value, advantage, returns;
  std::vector<int64_t> choice;
  double rate = 0;
};

/// Copies what it is given; one minibatch per batch.
class Recorder final : public Learner {
 public:
  Recorder(Columns& columns, double loss) : columns_(columns), loss_(loss) {}
  Status begin(const LearnBatch& b, double rate) override {
    const auto n = b.rows;
    columns_ = {{b.observation, b.observation + n * kWidth},
                {b.log_prob, b.log_prob + n},
                {b.value, b.value + n},
                {b.advantage, b.advantage + n},
                {b.returns, b.returns + n},
                {b.choice, b.choice + n},
                rate};
    return {};
  }
  bool step() override { return false; }
  [[nodiscard]] Stats stats() const override { return {{"loss", loss_}}; }
  [[nodiscard]] std::string save() const override { return "state"; }
  Status load(std::string_view bytes) override {
    return bytes == "state" ? Status() : invalid_argument("not mine");
  }

 private:
  Columns& columns_;
  double loss_;
};

class LearnerTest : public ::testing::Test {
 protected:
  std::unique_ptr<ActorCriticLearner> make(PpoConfig config = {}, bool normalise = false,
                                           double loss = 0, uint64_t seed = 1) {
    LearnerSetup setup;
    setup.env = {"toy", {TensorSpec{"obs", DType::F32, {kWidth}}}, ActionSpec::discrete(3), 0, {}};
    setup.net.hidden = {4};
    setup.net.normalise_observations = normalise;
    setup.batch = kChunks;
    setup.horizon = kSteps;
    setup.max_steps = 4 * kChunks * kSteps;
    setup.key = RandomKey(seed);
    return std::make_unique<ActorCriticLearner>(*actor_critic_spec(setup.env, setup.net), setup,
                                                config,
                                                [&, loss](ActorCritic&, const LearnerSetup&) {
                                                  return std::make_unique<Recorder>(columns_, loss);
                                                });
  }
  /// Chunk of a slot; `end` is the step at which its episode terminates ('t') or is truncated.
  static std::shared_ptr<Trajectory> chunk(int64_t slot, int64_t end, bool terminates,
                                           float offset = 0) {
    auto out = std::make_shared<Trajectory>();
    out->steps = Batch(Trajectory::schema({TensorSpec{"obs", DType::F32, {kWidth}}},
                                          ActionSpec::discrete(3).tensor()),
                       kSteps);
    out->slot = slot;
    for (int64_t t = 0; t < kSteps; ++t) {
      const auto x = static_cast<float>(t + 10 * slot) + offset;
      out->steps.data<float>(0)[2 * t] = x;
      out->steps.data<float>(0)[2 * t + 1] = -3 * x;
      out->steps.data<int64_t>(kAction)[t] = t % 3;
      out->steps.data<float>(kLogProb)[t] = -0.1F * static_cast<float>(t + 1);
      out->steps.data<float>(kValue)[t] = 0.5F * x;
      out->steps.data<float>(kReward)[t] = 1 + x;
      out->steps.data<uint8_t>(kTerminated)[t] = t == end && terminates ? 1 : 0;
      out->steps.data<uint8_t>(kTruncated)[t] = t == end && !terminates ? 1 : 0;
      out->steps.data<float>(kBootstrap)[t] =
          (t == end && !terminates) || t == kSteps - 1 ? 7 + static_cast<float>(slot) : 0;
    }
    return out;
  }
  Status learn(ActorCriticLearner& learner, const std::vector<std::shared_ptr<Trajectory>>& in) {
    const std::vector<std::shared_ptr<const Trajectory>> chunks(in.begin(), in.end());
    RETURN_IF_ERROR(learner.begin(chunks));
    ASSIGN_OR_RETURN(const bool more, learner.step());
    EXPECT_FALSE(more);
    return {};
  }
  /// GAE by the sum of its definition: A_t = sum_k (gamma lambda)^k delta_{t+k}, up to the end of
  /// the episode or the chunk.
  static double advantage_of(const Trajectory& c, int64_t t, double gamma, double lambda) {
    const auto* value = c.steps.data<float>(kValue);
    double sum = 0;
    double weight = 1;
    for (int64_t k = t; k < kSteps; ++k, weight *= gamma * lambda) {
      const bool terminated = c.steps.data<uint8_t>(kTerminated)[k] != 0;
      const bool truncated = c.steps.data<uint8_t>(kTruncated)[k] != 0;
      double next = 0;
      if (!terminated) {
        next = truncated || k == kSteps - 1 ? c.steps.data<float>(kBootstrap)[k] : value[k + 1];
      }
      sum += weight * (c.steps.data<float>(kReward)[k] + gamma * next - value[k]);
      if (terminated || truncated) break;
    }
    return sum;
  }

  Columns columns_;
};

TEST_F(LearnerTest, ColumnsAreThoseOfTheChunksWithAdvantagesByDefinition) {
  PpoConfig config;
  config.gamma = 0.9;
  config.gae_lambda = 0.7;
  const auto learner = make(config);
  const auto truncated = chunk(0, 1, false);
  const auto terminated = chunk(1, 2, true);
  ASSERT_TRUE(learn(*learner, {truncated, terminated}).ok());
  ASSERT_EQ(columns_.value.size(), static_cast<size_t>(kChunks * kSteps));
  for (int64_t c = 0; c < kChunks; ++c) {
    const Trajectory& from = c == 0 ? *truncated : *terminated;
    for (int64_t t = 0; t < kSteps; ++t) {
      const auto row = static_cast<size_t>(c * kSteps + t);
      SCOPED_TRACE(row);
      EXPECT_EQ(columns_.observation[2 * row + 1], from.steps.data<float>(0)[2 * t + 1]);
      EXPECT_EQ(columns_.choice[row], t % 3);
      EXPECT_EQ(columns_.log_prob[row], from.steps.data<float>(kLogProb)[t]);
      const double expected = advantage_of(from, t, 0.9, 0.7);
      EXPECT_NEAR(columns_.advantage[row], expected, 1e-4);
      EXPECT_NEAR(columns_.returns[row], expected + columns_.value[row], 1e-4);
    }
  }
}

TEST_F(LearnerTest, ObservationsAreNormalisedByWhatTheLastVersionHadSeen) {
  const auto learner = make({}, true);
  const auto first = chunk(0, -1, false);
  ASSERT_TRUE(learn(*learner, {first, first}).ok());
  EXPECT_EQ(columns_.observation[2], first->steps.data<float>(0)[2]) << "nothing was seen before";

  // 0, 1, 2, 3 have the mean 1.5 and the variance 1.25.
  const at::Tensor mean = learner->weights().find(kObsMean);
  const at::Tensor scale = learner->weights().find(kObsScale);
  EXPECT_NEAR(mean.data_ptr<float>()[0], 1.5, 1e-6);
  EXPECT_NEAR(scale.data_ptr<float>()[0], 1 / std::sqrt(1.25), 1e-5);
  ASSERT_TRUE(learn(*learner, {first, first}).ok());
  EXPECT_NEAR(columns_.observation[0], (0 - 1.5) / std::sqrt(1.25), 1e-5);
}

TEST_F(LearnerTest, RewardsAreScaledByTheSpreadOfTheDiscountedReturn) {
  PpoConfig config;
  config.gamma = 0.5;
  config.gae_lambda = 0;
  config.normalise_reward = true;
  const auto learner = make(config);
  const auto one = chunk(0, 1, true);
  ASSERT_TRUE(learn(*learner, {one}).ok());
  // Rewards 1 2 | 3 4 with an end after the second: running returns 1, 2.5, 3, 5.5.
  const double mean = (1 + 2.5 + 3 + 5.5) / 4;
  double variance = 0;
  for (const double r : {1.0, 2.5, 3.0, 5.5}) variance += (r - mean) * (r - mean) / 4;
  const double delta = 2 / std::sqrt(variance) - 0.5;  // the row that terminates: no next value
  EXPECT_NEAR(columns_.advantage[1], delta, 1e-4);
}

TEST_F(LearnerTest, LearningRateFallsOverTheWholeRun) {
  PpoConfig config;
  config.learning_rate = 0.4;
  config.anneal = true;
  const auto learner = make(config);
  const auto one = chunk(0, -1, false);
  std::vector<double> rates;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(learn(*learner, {one, one}).ok());
    rates.push_back(columns_.rate);
  }
  EXPECT_NEAR(rates[0], 0.4, 1e-9);
  EXPECT_NEAR(rates[1], 0.3, 1e-9);
  EXPECT_NEAR(rates[3], 0.1, 1e-9);
  EXPECT_NEAR(rates[5], 0.1, 1e-9) << "it never reaches zero";
}

TEST_F(LearnerTest, SavedStateGoesOnWithTheSameNormalisers) {
  PpoConfig config;
  config.normalise_reward = true;
  const auto learner = make(config, true);
  const auto a = chunk(0, 1, true);
  const auto b = chunk(1, -1, false);
  ASSERT_TRUE(learn(*learner, {a, b}).ok());
  Snapshot saved;
  ASSERT_TRUE(learner->save(saved).ok());
  const auto other = make(config, true, 0, 1);
  ASSERT_TRUE(other->load(saved).ok());
  EXPECT_EQ(other->weights().digest(), learner->weights().digest());
  ASSERT_TRUE(learn(*learner, {b, a}).ok());
  const Columns expected = columns_;
  ASSERT_TRUE(learn(*other, {b, a}).ok());
  EXPECT_EQ(columns_.observation, expected.observation);
  EXPECT_EQ(columns_.advantage, expected.advantage);
}

TEST_F(LearnerTest, ResultThatIsNotFiniteIsDataLoss) {
  const auto learner = make({}, false, std::nan(""));
  const Status status = learn(*learner, {chunk(0, -1, false)});
  EXPECT_EQ(status.code(), Code::DataLoss);
  EXPECT_NE(status.message().find("loss"), std::string::npos);
}

TEST_F(LearnerTest, MoreRowsThanABatchAreRefused) {
  const auto learner = make();
  const auto one = chunk(0, -1, false);
  EXPECT_EQ(learn(*learner, {one, one, one}).code(), Code::InvalidArgument);
}

TEST(PpoLearner, UnevenMinibatchesAreRefusedWithAllNumbers) {
  PpoConfig config;
  config.minibatches = 3;
  LearnerSetup setup;
  setup.batch = 4;
  setup.horizon = 10;
  std::vector<std::string> problems;
  ppo(config).check(setup, problems);
  ASSERT_EQ(problems.size(), 1U);
  for (const char* number : {"4 chunks", "10 steps", "40 rows", "3 minibatches", "1 rows"}) {
    EXPECT_NE(problems[0].find(number), std::string::npos) << problems[0];
  }
}

}  // namespace
}  // namespace sluice
