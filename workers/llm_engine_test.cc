#include "workers/llm_engine.h"

#include "models/io/checkpoint.h"
#include "models/transformer/loading.h"
#include "workers/test_bench.h"

#include <ATen/ATen.h>

#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using testing::settle;
using Call = Exchange<GenRequest, Completion>;
using Client = ServiceClient<GenRequest, Completion>;

const char* const kModel = SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama";

/// The checkpoint's weights, the last norm multiplied by `factor`.
std::shared_ptr<Weights> weights_of(int64_t step, float factor) {
  const auto checkpoint = Checkpoint::open(kModel);
  SLUICE_CHECK(checkpoint.ok()) << checkpoint.status().message();
  auto out = std::make_shared<Weights>();
  for (const CheckpointTensor& stored : (*checkpoint)->tensors()) {
    at::Tensor tensor = (*checkpoint)->read(stored.name, at::kFloat)->clone();
    if (stored.name == "model.norm.weight") tensor.mul_(factor);
    out->tensors.emplace_back(stored.name, tensor);
  }
  out->tag = {1, 0, step, out->digest()};
  return out;
}

class LlmEngineTest : public ::testing::Test {
 protected:
  explicit LlmEngineTest(Swap swap = Swap::Resume, bool follows = true) {
    bench_.act = {"generate", "GenRequest -> Completion", {}, 2};
    bench_.weights.policy.swap = swap;
    std::vector<std::pair<Verb, std::string>> ports{{Verb::Serves, "generate"}};
    if (follows) ports.emplace_back(Verb::Follows, "weights");
    auto context = bench_.context(ports);
    publisher_.emplace(bench_.publisher());
    client_.emplace(open());
    other_.emplace(open());
    const LlmEngine spec{
        .model = kModel, .kv_mib = 1, .max_length = 2048, .token_budget = 64, .block_size = 4};
    auto made = spec.make(context);
    SLUICE_CHECK(made.ok()) << made.status().message();
    worker_ = *std::move(made);
  }

  Client open() { return Client(*bench_.transport.open_client(bench_.act, bench_.test_waker)); }
  const Engine& engine() { return dynamic_cast<LlmEngineWorker&>(*worker_).engine(); }
  void step() {
    const auto result = worker_->step();
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(engine().check().ok()) << engine().check().message();
  }
  /// Until the engine has drawn so many; the first weights are prepared before.
  void step_until_tokens(int64_t n) {
    const TimeNs end = after(RealClock::instance().now(), 20 * kSecond);
    while (engine().stats().generated_tokens < n) {
      ASSERT_LT(RealClock::instance().now(), end);
      ASSERT_NO_FATAL_FAILURE(step());
    }
  }
  static std::unique_ptr<Call> question(int32_t max_tokens, int64_t first = 40) {
    auto call = std::make_unique<Call>();
    call->request.prompt = {first, 41, 42, 43, 44};
    call->request.sampling.temperature = 0;
    call->request.sampling.ignore_eos = true;
    call->request.sampling.max_tokens = max_tokens;
    return call;
  }
  void publish(std::shared_ptr<Weights> weights) {
    const VersionTag tag = weights->tag;
    ASSERT_TRUE(publisher_->publish(std::move(weights), tag).ok());
  }
  std::unique_ptr<Call> answer(Client& client) {
    EXPECT_TRUE(settle(*worker_).ok());
    return client.try_collect();
  }
  std::unique_ptr<Call> ask(int32_t max_tokens) {
    auto call = question(max_tokens);
    EXPECT_TRUE(client_->try_ask(call));
    return answer(*client_);
  }

  Bench bench_;
  std::optional<LatestPublisher<Weights>> publisher_;
  std::optional<Client> client_;
  std::optional<Client> other_;
  std::unique_ptr<Worker> worker_;
};

class LlmEngineDrain : public LlmEngineTest {
 protected:
  LlmEngineDrain() : LlmEngineTest(Swap::Drain) {}
};
class LlmEngineAlone : public LlmEngineTest {
 protected:
  LlmEngineAlone() : LlmEngineTest(Swap::Resume, false) {}
};

TEST_F(LlmEngineTest, QuestionsWaitForTheFirstVersion) {
  EXPECT_EQ(ask(4), nullptr);
  publish(weights_of(3, 1));
  const auto call = answer(*client_);
  ASSERT_NE(call, nullptr);
  ASSERT_TRUE(call->status.ok()) << call->status.message();
  const Sample& sample = call->response.samples.at(0);
  EXPECT_EQ(sample.tokens.size(), 4U);
  EXPECT_EQ(sample.versions, (std::vector<VersionRun>{{0, weights_of(3, 1)->tag}}));
  EXPECT_EQ(bench_.metric("sluice_llm_answers_total"), 1);
  EXPECT_EQ(bench_.metric("sluice_llm_tokens_total"), 4);
  EXPECT_EQ(bench_.metric("sluice_llm_version"), 3);
}

TEST_F(LlmEngineAlone, TheCheckpointServesWithoutAChannelOfWeights) {
  const auto call = ask(4);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->response.samples.at(0).versions.at(0).version.step, 0);
}

TEST_F(LlmEngineTest, ASwapMidwayIsSeenInTheVersions) {
  publish(weights_of(0, 1));
  auto call = question(500);
  ASSERT_TRUE(client_->try_ask(call));
  step_until_tokens(3);
  const auto second = weights_of(1, -1);
  publish(second);
  while (engine().busy() && engine().version() != second->tag) step();
  const auto done = answer(*client_);
  ASSERT_NE(done, nullptr);
  const Sample& sample = done->response.samples.at(0);
  ASSERT_EQ(sample.tokens.size(), 500U);
  ASSERT_EQ(sample.versions.size(), 2U);
  EXPECT_EQ(sample.versions[0].version.step, 0);
  EXPECT_EQ(sample.versions[1], (VersionRun{sample.versions[1].start, second->tag}));
  EXPECT_GT(sample.versions[1].start, 0);
  EXPECT_LT(sample.versions[1].start, 500);
  EXPECT_EQ(bench_.metric("sluice_llm_swaps_total"), 2);
}

TEST_F(LlmEngineDrain, WhatIsUnderWayEndsWithTheOldWeights) {
  publish(weights_of(0, 1));
  auto call = question(20);
  ASSERT_TRUE(client_->try_ask(call));
  step_until_tokens(6);
  publish(weights_of(1, -1));
  const auto done = answer(*client_);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->response.samples.at(0).versions.size(), 1U);
  EXPECT_EQ(ask(4)->response.samples.at(0).versions.at(0).version.step, 1);
}

TEST_F(LlmEngineTest, DamagedOrForeignWeightsArePassedOver) {
  publish(weights_of(0, 1));
  const auto before = ask(6)->response.samples.at(0).tokens;
  auto damaged = weights_of(1, -1);
  damaged->tag.digest ^= 1;
  publish(damaged);
  EXPECT_EQ(ask(6)->response.samples.at(0).tokens, before);
  auto foreign = weights_of(2, -1);
  foreign->tensors.pop_back();
  foreign->tag.digest = foreign->digest();
  publish(foreign);
  const auto after = ask(6);
  EXPECT_EQ(after->response.samples.at(0).tokens, before);
  EXPECT_EQ(after->response.samples.at(0).versions.at(0).version.step, 0);
  EXPECT_EQ(bench_.metric("sluice_llm_refused_weights_total"), 2);
}

TEST_F(LlmEngineTest, ALostClientFreesItsBlocks) {
  publish(weights_of(0, 1));
  auto call = question(100);
  ASSERT_TRUE(client_->try_ask(call));
  auto kept = question(8, 50);
  ASSERT_TRUE(other_->try_ask(kept));
  step_until_tokens(3);
  const int32_t before = engine().stats().free_blocks;
  EXPECT_LT(before, engine().stats().blocks);
  const auto seen = bench_.waker.epoch();
  client_.reset();  // without close()
  EXPECT_NE(bench_.waker.epoch(), seen) << "the engine's loop is woken";
  step();
  EXPECT_GT(engine().stats().free_blocks, before);
  EXPECT_EQ(bench_.metric("sluice_llm_unwanted_total"), 1);
  const auto done = answer(*other_);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->response.samples.at(0).tokens.size(), 8U);
  EXPECT_EQ(engine().stats().free_blocks, engine().stats().blocks);
  EXPECT_EQ(bench_.metric("sluice_llm_free_blocks"), engine().stats().blocks);
}

TEST_F(LlmEngineTest, WhatMakesNoSenseComesBackAtOnce) {
  publish(weights_of(0, 1));
  auto call = question(4, 5000);
  ASSERT_TRUE(client_->try_ask(call));
  const auto done = answer(*client_);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->status.code(), Code::InvalidArgument);
  EXPECT_TRUE(ask(4)->status.ok());
}

TEST_F(LlmEngineTest, DrainingAnswersWhatItHasAndEnds) {
  publish(weights_of(0, 1));
  auto call = question(20);
  ASSERT_TRUE(client_->try_ask(call));
  step_until_tokens(3);
  worker_->drain();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  const auto done = client_->try_collect();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->response.samples.at(0).tokens.size(), 20U);
}

}  // namespace
}  // namespace sluice
