#include "workers/llm/group_sampler.h"

#include "workers/llm/llm_bench.h"

#include <gmock/gmock.h>

#include <optional>

namespace sluice {
namespace {

using testing::completion;
using ::testing::HasSubstr;
using testing::LlmBench;
using testing::settle;
using testing::settle_well;
using testing::version;

class GroupSamplerTest : public ::testing::Test {
 protected:
  using GenCall = Exchange<GenRequest, Completion>;
  using JudgeCall = Exchange<JudgeRequest, Scores>;

  void start(GroupSampler spec = {.group = 3}) {
    bench_.prompts.policy.capacity = 64;
    bench_.groups.policy.capacity = 64;
    prompts_.emplace(bench_.prompt_writer());
    groups_.emplace(bench_.group_reader());
    engine_.emplace(bench_.engine());
    judge_.emplace(bench_.judge_server());
    worker_ = make(spec);
  }
  std::unique_ptr<Worker> make(const GroupSampler& spec) {
    auto context = bench_.context({{Verb::Reads, "prompts"},
                                   {Verb::Asks, "generate"},
                                   {Verb::Asks, "judge"},
                                   {Verb::Writes, "groups"}});
    auto made = spec.make(context);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  void put(int64_t number) {
    Prompt prompt;
    prompt.number = number;
    prompt.problem = 100 + number;
    prompt.tokens = {1, 2, 3};
    std::shared_ptr<const Prompt> item = std::make_shared<const Prompt>(prompt);
    ASSERT_EQ(prompts_->try_put(item, {}), PutResult::Accepted);
  }
  std::vector<std::unique_ptr<GenCall>> generations() {
    std::vector<std::unique_ptr<GenCall>> calls;
    engine_->try_take(calls);
    return calls;
  }
  /// Lets the engine answer everything, then the judge: answer i is worth i.
  void serve(const VersionTag& tag = version(1)) {
    settle_well(*worker_);
    for (auto& call : generations()) {
      call->response = completion(call->request.sampling.n, tag);
      engine_->answer(std::move(call));
    }
    settle_well(*worker_);
    serve_judge();
    settle_well(*worker_);
  }
  void serve_judge() {
    std::vector<std::unique_ptr<JudgeCall>> calls;
    judge_->try_take(calls);
    for (auto& call : calls) {
      for (const std::string& answer : call->request.answers) {
        call->response.scores.push_back({std::stod(answer), {}, false, ""});
      }
      judge_->answer(std::move(call));
    }
  }
  std::vector<Item<Group>> taken() {
    std::vector<Item<Group>> all;
    for (;;) {
      auto items = groups_->try_take(1);
      if (!items.ok() || items->empty()) return all;
      all.push_back(std::move(items->front()));
    }
  }

  LlmBench bench_;
  std::optional<StreamWriter<Prompt>> prompts_;
  std::optional<StreamReader<Group>> groups_;
  std::optional<ServiceServer<GenRequest, Completion>> engine_;
  std::optional<ServiceServer<JudgeRequest, Scores>> judge_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(GroupSamplerTest, AGroupHasEveryCompletionWithItsScoreAndVersions) {
  start();
  put(0);
  serve(version(4));
  const auto items = taken();
  ASSERT_EQ(items.size(), 1U);
  const Group& group = *items[0].value;
  EXPECT_EQ(group.prompt.problem, 100);
  ASSERT_EQ(group.rollouts.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const TokenRollout& rollout = group.rollouts[i];
    EXPECT_EQ(rollout.tokens, (std::vector<int64_t>{10 + static_cast<int64_t>(i), 2}));
    EXPECT_EQ(rollout.logprobs, (std::vector<float>{-0.5F, -0.25F}));
    EXPECT_FLOAT_EQ(rollout.entropy, 0.75F);
    EXPECT_EQ(rollout.score.reward, static_cast<double>(i));
    EXPECT_FALSE(rollout.truncated);
  }
  EXPECT_EQ(items[0].info.versions.oldest, version(4));
  EXPECT_EQ(bench_.metric("sluice_groups_total"), 1);
  EXPECT_EQ(bench_.metric("sluice_rollouts_total"), 3);
  EXPECT_EQ(bench_.metric("sluice_rollout_tokens_total"), 6);
}

TEST_F(GroupSamplerTest, DrawsDependOnTheNumberOfThePromptOnly) {
  start();
  put(7);
  settle_well(*worker_);
  auto first = generations();
  ASSERT_EQ(first.size(), 1U);
  const auto seed = first[0]->request.sampling.seed;
  engine_->answer(std::move(first[0]));
  worker_.reset();
  worker_ = make({.group = 3});
  put(8);
  put(7);
  settle_well(*worker_);
  auto again = generations();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_NE(again[0]->request.sampling.seed, seed);
  EXPECT_EQ(again[1]->request.sampling.seed, seed);
  EXPECT_EQ(again[1]->request.order, 7);
}

TEST_F(GroupSamplerTest, ALostServerIsAskedAgainAFewTimesAndThenTheWorkerFails) {
  start({.group = 3, .retries = 2});
  put(0);
  for (int i = 0; i < 2; ++i) {
    settle_well(*worker_);
    for (auto& call : generations()) {
      call->status = error(Code::Unavailable, "gone");
      engine_->answer(std::move(call));
    }
  }
  serve();
  EXPECT_EQ(taken().size(), 1U);
  EXPECT_EQ(bench_.metric("sluice_sampler_reissued_total"), 2);
  put(1);
  Result<StepResult> last = StepResult::progress();
  for (int i = 0; i < 3 && last.ok(); ++i) {
    settle_well(*worker_);
    for (auto& call : generations()) {
      call->status = error(Code::Unavailable, "gone");
      engine_->answer(std::move(call));
    }
    last = worker_->step();
  }
  ASSERT_FALSE(last.ok());
  EXPECT_THAT(last.status().message(), HasSubstr("the engine did not answer 3 times: gone"));
}

TEST_F(GroupSamplerTest, WhatCannotBeJudgedIsAFailureAndNotAZero) {
  start();
  put(0);
  settle_well(*worker_);
  for (auto& call : generations()) {
    call->response = completion(3, version(1));
    call->response.samples[1].reason = FinishReason::Failed;
    call->response.samples[1].error = error(Code::DataLoss, "NaN logits");
    engine_->answer(std::move(call));
  }
  settle_well(*worker_);
  std::vector<std::unique_ptr<JudgeCall>> calls;
  ASSERT_TRUE(judge_->try_take(calls));
  calls[0]->response.scores = {{1, {}, false, ""}, {5, {}, false, ""}, {0, {}, true, "threw"}};
  judge_->answer(std::move(calls[0]));
  settle_well(*worker_);
  const auto items = taken();
  ASSERT_EQ(items.size(), 1U);
  const auto& rollouts = items[0].value->rollouts;
  EXPECT_FALSE(rollouts[0].score.failed);
  EXPECT_TRUE(rollouts[1].score.failed);
  EXPECT_EQ(rollouts[1].score.why, "NaN logits");
  EXPECT_TRUE(rollouts[2].score.failed);
  EXPECT_EQ(bench_.metric("sluice_rollouts_failed_total"), 2);
}

TEST_F(GroupSamplerTest, AJudgeThatRefusesFailsTheGroupsScoresAndTheRunGoesOn) {
  start();
  put(0);
  settle_well(*worker_);
  for (auto& call : generations()) {
    call->response = completion(3, version(1));
    engine_->answer(std::move(call));
  }
  settle_well(*worker_);
  std::vector<std::unique_ptr<JudgeCall>> calls;
  ASSERT_TRUE(judge_->try_take(calls));
  calls[0]->status = invalid_argument("no such problem");
  judge_->answer(std::move(calls[0]));
  settle_well(*worker_);
  const auto items = taken();
  ASSERT_EQ(items.size(), 1U);
  for (const TokenRollout& rollout : items[0].value->rollouts) {
    EXPECT_TRUE(rollout.score.failed);
    EXPECT_EQ(rollout.score.why, "no such problem");
  }
}

TEST_F(GroupSamplerTest, StartsNoMoreThanTheStreamOfGroupsAdmits) {
  bench_.groups.policy.admit_ahead = 0;
  bench_.groups.policy.admit_batch = 2;
  start();
  groups_->advance(version(0));
  for (int64_t i = 0; i < 5; ++i) put(i);
  settle_well(*worker_);
  EXPECT_EQ(generations().size(), 2U) << "a third would be trained on one version later";
}

TEST_F(GroupSamplerTest, AResumedSamplerPassesOverWhatWasHandedOutAndMakesTheRestAnew) {
  start();
  for (int64_t i = 0; i < 3; ++i) put(i);
  settle_well(*worker_);
  auto calls = generations();
  ASSERT_EQ(calls.size(), 3U);
  for (const size_t i : {0UL, 2UL}) {  // 1 stays under way
    calls[i]->response = completion(3, version(1));
    engine_->answer(std::move(calls[i]));
  }
  settle_well(*worker_);
  serve_judge();
  settle_well(*worker_);
  EXPECT_EQ(taken().size(), 2U);
  Snapshot state;
  ASSERT_TRUE(worker_->save(state).ok());
  worker_.reset();
  EXPECT_EQ(bench_.metric("sluice_groups_dropped_total"), 1);

  worker_ = make({.group = 3});
  ASSERT_TRUE(worker_->load(state).ok());
  for (int64_t i = 0; i < 4; ++i) put(i);  // the source writes again what may have been lost
  settle_well(*worker_);
  std::vector<int64_t> asked;
  for (const auto& call : generations()) asked.push_back(*call->request.order);
  EXPECT_EQ(asked, (std::vector<int64_t>{1, 3}));
}

TEST_F(GroupSamplerTest, EndsWhenPromptsDoAndTheLastGroupIsOut) {
  start();
  put(0);
  prompts_->close();
  serve();
  EXPECT_EQ(taken().size(), 1U);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
}

}  // namespace
}  // namespace sluice
