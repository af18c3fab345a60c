#include "workers/policy_worker.h"

#include "workers/test_bench.h"

#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using testing::scripted;
using testing::settle;
using testing::weights_of;
using Call = Exchange<Observation, Action>;

class PolicyTest : public ::testing::Test {
 protected:
  PolicyTest() {
    const Policy policy{.env = env_, .net = {.hidden = {8}}};
    auto context = bench_.context({{Verb::Serves, "act"}, {Verb::Follows, "weights"}});
    client_.emplace(bench_.client());
    publisher_.emplace(bench_.publisher());
    auto made = policy.make(context);
    EXPECT_TRUE(made.ok()) << made.status().message();
    worker_ = *std::move(made);
    spec_ = *actor_critic_spec(*env_spec(env_), policy.net);
  }
  void ask(int64_t slot, float observation, int64_t draw = 0) {
    auto call = std::make_unique<Call>();
    call->request.rows = Batch(Observation::schema(env_spec(env_)->observation), 1);
    call->response.rows = Batch(Action::schema(env_spec(env_)->action.tensor()), 1);
    call->request.rows.data<float>(0)[0] = observation;
    call->request.rows.data<int64_t>(1)[0] = slot;
    call->request.rows.data<int64_t>(2)[0] = draw;
    call->request.rows.data<uint8_t>(3)[0] = 1;
    call->request.count = 1;
    ASSERT_TRUE(client_->try_ask(call));
  }
  void publish(std::shared_ptr<Weights> weights) {
    const VersionTag tag = weights->tag;
    ASSERT_TRUE(publisher_->publish(std::move(weights), tag).ok());
  }
  std::unique_ptr<Call> answer() {
    EXPECT_TRUE(settle(*worker_).ok());
    return client_->try_collect();
  }
  float value_now(float observation) {
    ask(0, observation);
    return answer()->response.rows.data<float>(2)[0];
  }

  std::string env_ = scripted(0, false);
  Bench bench_;
  ActorCriticSpec spec_;
  std::optional<ServiceClient<Observation, Action>> client_;
  std::optional<LatestPublisher<Weights>> publisher_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(PolicyTest, QuestionsWaitForTheFirstVersion) {
  ask(0, 1);
  EXPECT_EQ(answer(), nullptr);
  publish(weights_of(spec_, 0));
  EXPECT_NE(answer(), nullptr);
}

TEST_F(PolicyTest, EveryAnswerCarriesTheVersionThatMadeIt) {
  publish(weights_of(spec_, 3));
  ask(0, 1);
  const auto first = answer();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->response.version, weights_of(spec_, 3)->tag);
  EXPECT_EQ(first->response.count, 1);
  publish(weights_of(spec_, 4, 2));
  ask(0, 1);
  EXPECT_EQ(answer()->response.version.step, 4);
  EXPECT_EQ(bench_.metric("sluice_policy_answers_total"), 2);
  EXPECT_EQ(bench_.metric("sluice_policy_swaps_total"), 2);
  EXPECT_EQ(bench_.metric("sluice_policy_version"), 4);
}

TEST_F(PolicyTest, ANewVersionActsFromTheNextBatchOn) {
  publish(weights_of(spec_, 0, 1));
  const float before = value_now(0.5F);
  ask(0, 0.5F);
  publish(weights_of(spec_, 1, 2));  // arrives before the batch is taken
  const auto call = answer();
  EXPECT_EQ(call->response.version.step, 1);
  EXPECT_NE(call->response.rows.data<float>(2)[0], before);
}

TEST_F(PolicyTest, DamagedVersionIsPassedOverAndTheOldOneGoesOn) {
  publish(weights_of(spec_, 0, 1));
  const float before = value_now(0.5F);
  auto damaged = weights_of(spec_, 1, 2);
  damaged->tag.digest ^= 1;
  publish(damaged);
  EXPECT_EQ(value_now(0.5F), before);
  EXPECT_EQ(bench_.metric("sluice_policy_refused_weights_total"), 1);
  publish(weights_of(spec_, 2, 2));
  EXPECT_NE(value_now(0.5F), before) << "the next version is taken again";
}

TEST_F(PolicyTest, WeightsOfAnotherNetworkFailTheWorker) {
  ActorCriticSpec other = spec_;
  other.hidden = {16};
  publish(weights_of(other, 0));
  const auto result = settle(*worker_);
  EXPECT_FALSE(result.ok());
}

TEST_F(PolicyTest, DrawsDependOnSlotAndCounterOnly) {
  publish(weights_of(spec_, 0));
  const auto draw = [&](int64_t slot, int64_t counter) {
    ask(slot, 0.5F, counter);
    return answer()->response.rows.data<int64_t>(0)[0];
  };
  std::vector<int64_t> forwards, backwards;
  for (int64_t i = 0; i < 16; ++i) forwards.push_back(draw(i % 4, i));
  for (int64_t i = 16; i-- > 0;) backwards.insert(backwards.begin(), draw(i % 4, i));
  EXPECT_EQ(forwards, backwards);
  EXPECT_NE(forwards, std::vector<int64_t>(16, forwards[0])) << "they must differ at all";
}

TEST_F(PolicyTest, QuestionsOfOneBatchShareAForwardPass) {
  publish(weights_of(spec_, 0));
  std::vector<float> alone;
  for (int64_t slot = 0; slot < 5; ++slot) {
    ask(slot, 0.25F * static_cast<float>(slot));
    const auto call = answer();
    alone.push_back(call->response.rows.data<float>(1)[0]);
    alone.push_back(call->response.rows.data<float>(2)[0]);
  }
  const double before = bench_.metric("sluice_policy_passes_total");
  for (int64_t slot = 0; slot < 5; ++slot) ask(slot, 0.25F * static_cast<float>(slot));
  std::vector<float> together;
  for (auto call = answer(); call != nullptr; call = client_->try_collect()) {
    EXPECT_EQ(call->response.count, 1);
    together.push_back(call->response.rows.data<float>(1)[0]);
    together.push_back(call->response.rows.data<float>(2)[0]);
  }
  EXPECT_EQ(together, alone) << "bit for bit, whoever else is in the batch";
  EXPECT_EQ(bench_.metric("sluice_policy_passes_total") - before, 1);
}

TEST_F(PolicyTest, EndsWhenEveryClientHasClosed) {
  publish(weights_of(spec_, 0));
  client_->close();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  worker_.reset();
  EXPECT_EQ(bench_.metric("sluice_service_lost_servers_total"), 0) << "a clean end";
  EXPECT_EQ(bench_.metric("sluice_latest_lost_followers_total"), 0);
}

}  // namespace
}  // namespace sluice
