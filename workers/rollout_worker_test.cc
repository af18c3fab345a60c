#include "workers/rollout_worker.h"

#include "workers/test_bench.h"

#include <gmock/gmock.h>

#include <cmath>
#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::scripted;
using testing::settle;
using testing::settle_well;
using testing::version;
using Calls = std::vector<std::unique_ptr<Exchange<Observation, Action>>>;

constexpr int64_t kSlot = 1, kDraw = 2, kWant = 3;  // columns of a question
constexpr int64_t kObs = 0, kTerminated = 5, kTruncated = 6, kBootstrap = 7;
constexpr float kBase = 100;  // the policy values an observation x at 100 + x

/// A rollout under test; the policy and the trainer are played by the test.
class RolloutTest : public ::testing::Test {
 protected:
  void start(Rollout spec) {
    auto context = bench_.context({{Verb::Asks, "act"}, {Verb::Writes, "samples"}});
    server_.emplace(bench_.server());
    reader_.emplace(bench_.reader(bench_.samples));
    auto made = spec.make(context);
    ASSERT_TRUE(made.ok()) << made.status().message();
    worker_ = *std::move(made);
  }
  Calls take() {
    Calls calls;
    server_->try_take(calls);
    return calls;
  }
  static std::vector<int64_t> slots(const Exchange<Observation, Action>& call) {
    const auto* first = call.request.rows.data<int64_t>(kSlot);
    return {first, first + call.request.count};
  }
  void answer(std::unique_ptr<Exchange<Observation, Action>> call, int64_t step = 1) {
    const auto* obs = call->request.rows.data<float>(kObs);
    for (int64_t r = 0; r < call->request.count; ++r) {
      call->response.rows.data<int64_t>(0)[r] = 1;
      call->response.rows.data<float>(1)[r] = -0.5F;
      call->response.rows.data<float>(2)[r] = kBase + obs[r];
    }
    call->response.count = call->request.count;
    call->response.version = version(step);
    server_->answer(std::move(call));
  }
  /// Lets worker and policy take turns until a chunk is there; null when none comes.
  std::shared_ptr<const Trajectory> next_chunk(int64_t step = 1) {
    for (int turn = 0; turn < 100; ++turn) {
      const auto result = settle(*worker_);
      EXPECT_TRUE(result.ok()) << result.status().message();
      auto items = reader_->try_take(1);
      if (items.ok() && !items->empty()) {
        last_ = items->front().info;
        return items->front().value;
      }
      for (auto& call : take()) answer(std::move(call), step);
    }
    return nullptr;
  }
  double given_up(const char* reason) const {
    return bench_.metric("sluice_rollout_dropped_total",
                         {{"worker", "w"}, {"replica", "0"}, {"reason", reason}});
  }
  std::vector<float> bootstrap(const Trajectory& chunk) {
    const auto* x = chunk.steps.data<float>(kBootstrap);
    return {x, x + chunk.steps.rows()};
  }

  Bench bench_;
  std::unique_ptr<Worker> worker_;
  std::optional<ServiceServer<Observation, Action>> server_;
  std::optional<StreamReader<Trajectory>> reader_;
  ItemInfo last_;
};

TEST_F(RolloutTest, AsksForAllReadySlotsAtOnce) {
  start({.env = scripted(0, false), .ring = 3, .horizon = 4});
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  const Calls calls = take();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_THAT(slots(*calls[0]), ElementsAre(0, 1, 2));
}

TEST_F(RolloutTest, LateAnswerHoldsUpItsOwnSlotOnly) {
  bench_.samples.policy.admit_ahead = 0;
  bench_.samples.policy.admit_batch = 1;
  start({.env = scripted(0, false), .ring = 2, .horizon = 2});
  reader_->advance(version(0));
  settle_well(*worker_);
  Calls late = take();  // slot 0 asks, and waits for its answer
  ASSERT_EQ(late.size(), 1U);
  reader_->advance(version(1));
  settle_well(*worker_);
  std::shared_ptr<const Trajectory> chunk = next_chunk();
  ASSERT_NE(chunk, nullptr) << "slot 1 must go on";
  EXPECT_EQ(chunk->slot, 1);
  answer(std::move(late[0]));
  chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(chunk->slot, 0);
}

TEST_F(RolloutTest, FlushesWhenEnoughAreReadyOrTheFirstHasWaitedLongEnough) {
  bench_.samples.policy.admit_ahead = 0;
  bench_.samples.policy.admit_batch = 1;
  start({.env = scripted(0, false),
         .ring = 4,
         .horizon = 4,
         .flush_ready = 2,
         .flush_within_us = 200});
  reader_->advance(version(0));
  settle_well(*worker_);
  ASSERT_EQ(take().size(), 1U) << "with nothing under way there is nothing to wait for";
  reader_->advance(version(1));
  auto idle = settle(*worker_);
  EXPECT_TRUE(take().empty()) << "one of two ready slots must wait";
  EXPECT_EQ(idle->until, bench_.clock.now() + 200 * kMicrosecond);
  bench_.clock.advance(200 * kMicrosecond);
  settle_well(*worker_);
  Calls timed = take();
  ASSERT_EQ(timed.size(), 1U);
  EXPECT_THAT(slots(*timed[0]), ElementsAre(1));
  reader_->advance(version(2));
  settle_well(*worker_);
  EXPECT_TRUE(take().empty());
  reader_->advance(version(3));
  settle_well(*worker_);
  Calls full = take();
  ASSERT_EQ(full.size(), 1U);
  EXPECT_THAT(slots(*full[0]), ElementsAre(2, 3));
}

TEST_F(RolloutTest, ChunkEndsWithTheValueOfTheObservationBehindIt) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 3});
  auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, 0, kBase + 3));
  chunk = next_chunk();
  EXPECT_EQ(chunk->steps.data<float>(kObs)[0], 3) << "the episode goes on in the next chunk";
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, 0, kBase + 6));
}

TEST_F(RolloutTest, TruncationInTheMiddleBootstrapsFromTheFinalObservation) {
  start({.env = scripted(2, true), .ring = 1, .horizon = 3});
  const auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(chunk->steps.data<uint8_t>(kTruncated)[1], 1);
  EXPECT_EQ(chunk->steps.data<float>(kObs)[2], 0) << "the next episode";
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, kBase + 2, kBase + 1));
}

TEST_F(RolloutTest, TruncationInTheLastRowBootstrapsFromTheFinalObservation) {
  start({.env = scripted(3, true), .ring = 1, .horizon = 3});
  auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(chunk->steps.data<uint8_t>(kTruncated)[2], 1);
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, 0, kBase + 3));
  EXPECT_EQ(next_chunk()->steps.data<float>(kObs)[0], 0);
}

TEST_F(RolloutTest, TerminationInTheLastRowHasNoBootstrap) {
  start({.env = scripted(3, false), .ring = 1, .horizon = 3});
  auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(chunk->steps.data<uint8_t>(kTerminated)[2], 1);
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, 0, 0));
  EXPECT_EQ(bench_.metric("sluice_env_episodes_total"), 1);
  EXPECT_EQ(bench_.metric("sluice_env_steps_total"), 3);
  EXPECT_EQ(next_chunk()->steps.data<float>(kObs)[0], 0);
}

TEST_F(RolloutTest, ChunkCarriesTheSpanOfVersionsThatActed) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 3});
  for (const int64_t step : {4, 5}) {
    settle_well(*worker_);
    Calls calls = take();
    ASSERT_EQ(calls.size(), 1U);
    answer(std::move(calls[0]), step);
  }
  ASSERT_NE(next_chunk(6), nullptr);
  EXPECT_EQ(last_.versions.oldest.step, 4);
  EXPECT_EQ(last_.versions.newest.step, 6);
}

TEST_F(RolloutTest, NoChunkStartsWithoutAPermit) {
  bench_.samples.policy.admit_ahead = 0;
  bench_.samples.policy.admit_batch = 2;
  start({.env = scripted(0, false), .ring = 3, .horizon = 1});
  reader_->advance(version(0));
  settle_well(*worker_);
  Calls calls = take();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_THAT(slots(*calls[0]), ElementsAre(0, 1));
  answer(std::move(calls[0]));
  ASSERT_NE(next_chunk(), nullptr);
  ASSERT_NE(next_chunk(), nullptr);
  EXPECT_EQ(next_chunk(), nullptr) << "the version has had its two chunks";
  reader_->advance(version(1));
  EXPECT_EQ(next_chunk()->slot, 0);
}

TEST_F(RolloutTest, QuestionOfALostServerIsAskedAgainWithTheSameDraws) {
  start({.env = scripted(0, false), .ring = 2, .horizon = 2});
  settle_well(*worker_);
  std::vector<int64_t> draws;
  {
    const Calls calls = take();
    ASSERT_EQ(calls.size(), 1U);
    const auto* first = calls[0]->request.rows.data<int64_t>(kDraw);
    draws = {first, first + 2};
    server_.reset();  // with the question in hand: what comes back is empty
  }
  server_.emplace(bench_.server());
  ASSERT_TRUE(settle(*worker_).ok());
  Calls again = take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_THAT(slots(*again[0]), ElementsAre(0, 1));
  EXPECT_EQ(again[0]->request.rows.data<int64_t>(kDraw)[0], draws[0]);
  EXPECT_EQ(again[0]->request.rows.data<int64_t>(kDraw)[1], draws[1]);
  EXPECT_EQ(again[0]->request.rows.data<uint8_t>(kWant)[1], 1);
  EXPECT_EQ(bench_.metric("sluice_rollout_reissued_total"), 2);
  answer(std::move(again[0]));
  const auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_THAT(bootstrap(*chunk), ElementsAre(0, kBase + 2));
}

TEST_F(RolloutTest, QuestionForABootstrapValueIsAskedAgainAsSuch) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 1});
  settle_well(*worker_);
  Calls first = take();
  answer(std::move(first.at(0)));
  settle_well(*worker_);
  EXPECT_EQ(take().at(0)->request.rows.data<uint8_t>(kWant)[0], 0);
  server_.reset();
  server_.emplace(bench_.server());
  settle_well(*worker_);
  Calls again = take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0]->request.rows.data<uint8_t>(kWant)[0], 0);
  answer(std::move(again[0]));
  EXPECT_THAT(bootstrap(*next_chunk()), ElementsAre(kBase + 1));
}

TEST_F(RolloutTest, QuestionThatTimedOutIsAskedAgain) {
  bench_.act.policy.deadline_ms = 5;
  start({.env = scripted(0, false), .ring = 1, .horizon = 1});
  auto idle = settle(*worker_);
  EXPECT_EQ(idle->until, 5 * kMillisecond);
  bench_.clock.advance(5 * kMillisecond);
  settle_well(*worker_);
  EXPECT_EQ(bench_.metric("sluice_rollout_reissued_total"), 1);
  EXPECT_NE(next_chunk(), nullptr);
}

TEST_F(RolloutTest, RefusedQuestionFailsTheWorkerWithTheReason) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 1});
  settle_well(*worker_);
  Calls calls = take();
  calls.at(0)->status = invalid_argument("wrong shape");
  server_->answer(std::move(calls[0]));
  const auto result = settle(*worker_);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("wrong shape"));
}

TEST_F(RolloutTest, BadStepFailsTheWorkerNamingSlotAndStep) {
  start({.env = "faulty:nan-obs@2", .ring = 2, .horizon = 4});
  settle_well(*worker_);
  for (auto& call : take()) answer(std::move(call));
  settle_well(*worker_);
  for (auto& call : take()) answer(std::move(call));
  const auto result = settle(*worker_);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("slot 0, step 2"));
}

TEST_F(RolloutTest, BadStepDropsTheChunkWhenAskedAndTheSlotGoesOn) {
  start(
      {.env = "faulty:nan-obs@2", .ring = 1, .horizon = 3, .on_bad_step = OnBadStep::DropEpisode});
  const auto chunk = next_chunk();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(bench_.metric("sluice_env_episodes_dropped_total"), 1);
  EXPECT_EQ(chunk->number, 0);
  const auto* obs = chunk->steps.data<float>(kObs);
  for (int64_t i = 0; i < 3 * 4; ++i) EXPECT_TRUE(std::isfinite(obs[i]));
  EXPECT_EQ(obs[0], 0) << "a fresh episode";
}

TEST_F(RolloutTest, DrainSendsWhatIsFinishedAndGivesUpWhatIsUnderWay) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 2});
  settle_well(*worker_);
  worker_->drain();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle) << "an answer is still to come";
  Calls calls = take();
  answer(std::move(calls.at(0)));
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_TRUE(reader_->ended());
  EXPECT_TRUE(server_->ended());
  worker_.reset();
  EXPECT_EQ(given_up("drained"), 1);
  EXPECT_EQ(given_up("lost"), 0) << "counted once";
}

TEST_F(RolloutTest, ChunksUnderWayAreCountedWhenTheRolloutIsLost) {
  start({.env = scripted(0, false), .ring = 3, .horizon = 2});
  settle_well(*worker_);
  worker_.reset();
  EXPECT_EQ(given_up("lost"), 3);
}

TEST_F(RolloutTest, ChunkForAStreamThatClosedIsCountedByTheStream) {
  start({.env = scripted(0, false), .ring = 1, .horizon = 1});
  settle_well(*worker_);
  reader_->close();
  for (int turn = 0; turn < 2; ++turn) {  // its action, then the value to bootstrap from
    Calls calls = take();
    answer(std::move(calls.at(0)));
    settle_well(*worker_);
  }
  EXPECT_EQ(
      bench_.metric("sluice_stream_dropped_total", {{"channel", "samples"}, {"reason", "closed"}}),
      1);
}

}  // namespace
}  // namespace sluice
