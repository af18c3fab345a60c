#include "inference/engine/engine.h"

#include "inference/engine/engine_support.h"
#include "inference/engine/paged_attention_op.h"
#include "models/transformer/greedy.h"
#include "models/transformer/logprobs/model_logprobs.h"
#include "models/transformer/logprobs/next_tokens.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<int64_t> plain_greedy(const Transformer& model, const std::vector<int64_t>& prompt,
                                  int64_t n) {
  GreedyOptions how;
  how.max_tokens = n;
  auto tokens = greedy(model, prompt, how);
  SLUICE_CHECK(tokens.ok()) << tokens.status().message();
  return *std::move(tokens);
}

class EngineOf : public testing::TestWithParam<const char*> {};

TEST_P(EngineOf, GreedyBatchEqualsThePlainLoopOneByOne) {
  const Transformer m = model(GetParam());
  Runner runner(m);
  std::vector<RequestId> ids;
  std::vector<std::vector<int64_t>> prompts;
  for (const int64_t n : {1, 3, 4, 5, 12, 19}) {
    prompts.push_back(prompt(n, static_cast<uint64_t>(n)));
    ids.push_back(runner.submit(greedy_request(prompts.back(), 12)));
  }
  runner.run();
  for (size_t i = 0; i < ids.size(); ++i) {
    const Sample& sample = runner.done(ids[i]).samples.at(0);
    EXPECT_EQ(sample.tokens, plain_greedy(m, prompts[i], 12)) << prompts[i].size();
    EXPECT_EQ(sample.reason, FinishReason::Length);
    EXPECT_EQ(runner.streamed(ids[i]), sample.tokens);
    EXPECT_THAT(sample.versions, ElementsAre(VersionRun{0, kVersion1}));
  }
}

TEST_P(EngineOf, FourSamplesEqualFourRequests) {
  const Transformer m = model(GetParam());
  GenRequest together = drawn_request(prompt(9), 10);
  together.sampling.n = 4;
  Runner forked(m);
  const Completion group = forked.complete(together);
  ASSERT_THAT(group.samples, SizeIs(4));
  std::set<std::vector<int64_t>> different;
  for (uint32_t i = 0; i < 4; ++i) {
    Runner alone(m);
    GenRequest one = drawn_request(prompt(9), 10);
    one.first_sample = i;
    const Completion single = alone.complete(one);
    EXPECT_EQ(single.samples.at(0).index, i);
    EXPECT_EQ(group.samples[i].tokens, single.samples[0].tokens);
    different.insert(group.samples[i].tokens);
  }
  EXPECT_EQ(different.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Architectures, EngineOf,
                         testing::Values("llama", "llama_one_kv_head", "mistral", "qwen3",
                                         "qwen3_moe", "gemma2", "gpt2", "rope_dynamic",
                                         "qwen3_next"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Engine, ChunkedPromptEqualsTheWhole) {
  const Transformer m = model();
  const auto tokens = prompt(257);
  EngineOptions whole = options();
  whole.scheduler.token_budget = 1000;
  whole.blocks = 80;
  Runner runner(m, whole);
  const Completion want = runner.complete(drawn_request(tokens, 8));
  for (const int64_t chunk : {1, 16, 17, 256}) {
    EngineOptions chunked = whole;
    chunked.scheduler.token_budget = chunk;
    Runner other(m, chunked);
    const Completion got = other.complete(drawn_request(tokens, 8));
    EXPECT_EQ(got.samples[0].tokens, want.samples[0].tokens) << chunk;
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(got.samples[0].logprobs[i], want.samples[0].logprobs[i], 1e-4);
    }
  }
}

TEST(Engine, PrefixHitEqualsCold) {
  const Transformer m = model();
  Runner runner(m);
  const Completion cold = runner.complete(drawn_request(prompt(16), 12));
  EXPECT_EQ(cold.cached_tokens, 0);
  const Completion warm = runner.complete(drawn_request(prompt(16), 12));
  EXPECT_EQ(warm.cached_tokens, 12);
  EXPECT_EQ(warm.samples[0].tokens, cold.samples[0].tokens);
  // The output of the first is found as part of a longer prompt.
  GenRequest longer = drawn_request(prompt(16), 4);
  longer.prompt.insert(longer.prompt.end(), cold.samples[0].tokens.begin(),
                       cold.samples[0].tokens.end());
  EXPECT_EQ(runner.complete(longer).cached_tokens, 24);
  GenRequest salted = drawn_request(prompt(16), 12);
  salted.salt = "other";
  EXPECT_EQ(runner.complete(salted).cached_tokens, 0);
}

TEST(Engine, PreemptedEqualsUnpreempted) {
  const Transformer m = model();
  Runner roomy(m);
  EngineOptions tight = options();
  tight.blocks = 9;  // for one and a half of the requests
  Runner crowded(m, tight);
  std::vector<std::pair<RequestId, RequestId>> ids;
  for (uint64_t i = 0; i < 4; ++i) {
    GenRequest request = drawn_request(prompt(5, i), 19, i);
    request.sampling.n = i == 3 ? 2 : 1;
    request.sampling.repetition_penalty = 1.5F;
    request.sampling.frequency_penalty = 0.5F;
    ids.emplace_back(roomy.submit(request), crowded.submit(request));
  }
  roomy.run();
  crowded.run();
  EXPECT_EQ(roomy.engine().stats().scheduler.preemptions, 0);
  EXPECT_GT(crowded.engine().stats().scheduler.preemptions, 0);
  for (const auto& [a, b] : ids) {
    const Completion& want = roomy.done(a);
    const Completion& got = crowded.done(b);
    ASSERT_EQ(got.samples.size(), want.samples.size());
    for (size_t i = 0; i < want.samples.size(); ++i) {
      EXPECT_EQ(got.samples[i].tokens, want.samples[i].tokens);
      EXPECT_EQ(crowded.streamed(b, static_cast<uint32_t>(i)), want.samples[i].tokens);
    }
  }
}

TEST(Engine, ResultDoesNotDependOnTheBatch) {
  const Transformer m = model();
  Runner alone(m);
  const Completion want = alone.complete(drawn_request(prompt(6), 10));
  Runner busy(m);
  RequestId id = 0;
  for (uint64_t i = 0; i < 16; ++i) {
    const RequestId now =
        busy.submit(drawn_request(prompt(6, i == 9 ? 1 : 100 + i), 10, i == 9 ? 7 : i));
    if (i == 9) id = now;
  }
  busy.run();
  EXPECT_EQ(busy.done(id).samples[0].tokens, want.samples[0].tokens);
}

TEST(Engine, ResumedRequestGoesOnAsIfItHadNotStopped) {
  const Transformer m = model();
  Runner runner(m);
  GenRequest request = drawn_request(prompt(7), 16);
  request.sampling.n = 2;
  request.sampling.frequency_penalty = 1;
  const Completion whole = runner.complete(request);
  Runner other(m);
  const RequestId id = other.submit(request);
  while (other.streamed(id, 1).size() < 5) other.step();
  ASSERT_TRUE(other.engine().abort(id).ok());
  const Completion part = other.done(id);
  EXPECT_EQ(part.samples[1].reason, FinishReason::Abort);
  EXPECT_THAT(part.samples[1].tokens, SizeIs(5));
  EXPECT_THAT(part.samples[1].logprobs, SizeIs(5));
  EXPECT_TRUE(other.engine().check().ok());
  GenRequest rest = request;
  rest.sampling.n = 1;
  rest.first_sample = 1;
  rest.generated = part.samples[1].tokens;
  const Completion end = other.complete(rest);
  std::vector<int64_t> joined = part.samples[1].tokens;
  joined.insert(joined.end(), end.samples[0].tokens.begin(), end.samples[0].tokens.end());
  EXPECT_EQ(joined, whole.samples[1].tokens);
}

TEST(Engine, PromptLogprobsAreThoseOfTheTrainingForward) {
  const Transformer m = model();
  const auto tokens = prompt(21);
  EngineOptions chunked = options();
  chunked.scheduler.token_budget = 8;
  Runner runner(m, chunked);
  runner.complete(drawn_request(tokens, 4));  // what is cached must not shorten the list
  for (const int32_t more : {0, 3}) {
    GenRequest request = drawn_request(tokens, more);
    request.sampling.temperature = 0.7F;
    request.sampling.prompt_logprobs = true;
    const Completion done = runner.complete(request);
    EXPECT_THAT(done.samples[0].tokens, SizeIs(more));
    EXPECT_EQ(done.samples[0].reason, FinishReason::Length);
    ASSERT_THAT(done.prompt_logprobs, SizeIs(21));
    const at::NoGradGuard no_grad;
    const PackedBatch batch = pack({tokens});
    LogprobOptions how;
    how.temperature = 0.7;
    auto want = token_logprobs(m, batch, how);
    ASSERT_TRUE(want.ok());
    const at::Tensor by = by_token(batch, want->logprob);
    for (int64_t i = 0; i < 21; ++i) {
      EXPECT_NEAR(done.prompt_logprobs[static_cast<size_t>(i)], by[i].item<float>(), 1e-4) << i;
    }
  }
}

TEST(Engine, LogprobsAreThoseOfTheTrainingForward) {
  const Transformer m = model();
  Runner runner(m);
  const auto tokens = prompt(6);
  const Sample sample = runner.complete(drawn_request(tokens, 9)).samples[0];
  std::vector<int64_t> all = tokens;
  all.insert(all.end(), sample.tokens.begin(), sample.tokens.end());
  const at::NoGradGuard no_grad;
  const PackedBatch batch = pack({all});
  auto want = token_logprobs(m, batch);
  ASSERT_TRUE(want.ok());
  const at::Tensor by = by_token(batch, want->logprob);
  for (int64_t i = 0; i < 9; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_NEAR(sample.logprobs[at], by[6 + i].item<float>(), 1e-4);
    EXPECT_NEAR(sample.logprobs_temperature[at], by[6 + i].item<float>(), 1e-4);
  }
}

TEST(Engine, EndTokensStopUnlessIgnoredAndNotBeforeMinTokens) {
  const Transformer m = model();
  Runner plain(m);
  const auto all = plain.complete(greedy_request(prompt(5), 12)).samples[0].tokens;
  const int64_t end = all[3];
  const auto first = std::ranges::find(all, end) - all.begin();
  EngineOptions o = options();
  o.end_tokens = {end};
  Runner runner(m, o);
  const Sample stopped = runner.complete(greedy_request(prompt(5), 12)).samples[0];
  EXPECT_EQ(stopped.reason, FinishReason::Stop);
  EXPECT_EQ(stopped.tokens, std::vector<int64_t>(all.begin(), all.begin() + first + 1));
  GenRequest ignoring = greedy_request(prompt(5), 12);
  ignoring.sampling.ignore_eos = true;
  EXPECT_EQ(runner.complete(ignoring).samples[0].tokens, all);
  GenRequest own = ignoring;
  own.sampling.stop_token_ids = {all[1]};
  EXPECT_EQ(runner.complete(own).samples[0].reason, FinishReason::Stop);
  GenRequest late = greedy_request(prompt(5), 12);
  late.sampling.min_tokens = 12;
  const Sample longest = runner.complete(late).samples[0];
  EXPECT_THAT(longest.tokens, SizeIs(12));
  EXPECT_EQ(std::ranges::count(longest.tokens, end), 0);
}

TEST(Engine, RefusesBadRequestsAndServesTheNext) {
  const Transformer m = model();
  EngineOptions o = options();
  o.max_length = 100;
  o.blocks = 20;
  Runner runner(m, o);
  const auto refused = [&](const GenRequest& request) {
    return runner.engine().submit(request, {}).status();
  };
  EXPECT_THAT(refused(drawn_request({}, 4)).message(), HasSubstr("no tokens"));
  EXPECT_THAT(refused(drawn_request({64}, 4)).message(), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(refused(drawn_request({-1}, 4)).message(), HasSubstr("outside the vocabulary"));
  EXPECT_EQ(refused(drawn_request(prompt(100), 4)).code(), Code::InvalidArgument);
  EXPECT_EQ(refused(drawn_request(prompt(1'000'000), 4)).code(), Code::InvalidArgument);
  EXPECT_EQ(refused(drawn_request(prompt(70), 20)).code(), Code::ResourceExhausted);
  EXPECT_FALSE(refused(drawn_request(prompt(3), -1)).ok());
  GenRequest request = drawn_request(prompt(3), 4);
  request.sampling.n = 0;
  EXPECT_EQ(refused(request).code(), Code::InvalidArgument);
  request.sampling.n = 100'000;
  EXPECT_EQ(refused(request).code(), Code::InvalidArgument);
  request.sampling.n = 1;
  request.sampling.stop_token_ids = {64};
  EXPECT_EQ(refused(request).code(), Code::InvalidArgument);
  request.sampling.stop_token_ids.clear();
  request.generated = {5, 5, 5, 5};
  EXPECT_EQ(refused(request).code(), Code::InvalidArgument);
  EXPECT_TRUE(runner.engine().check().ok());
  EXPECT_THAT(runner.complete(drawn_request(prompt(3), 4)).samples[0].tokens, SizeIs(4));
}

TEST(Engine, MaxTokensIsCutToTheLongestSequence) {
  EngineOptions o = options();
  o.max_length = 20;
  Runner runner(model(), o);
  const Sample sample = runner.complete(drawn_request(prompt(15), 1000)).samples[0];
  EXPECT_THAT(sample.tokens, SizeIs(5));
  EXPECT_EQ(sample.reason, FinishReason::Length);
}

TEST(Engine, BrokenLogitsFailTheirRequestOnly) {
  const Transformer m = model("gpt2");
  Parameters broken = Parameters::allocate(parameter_specs(m.config()));
  for (const auto& entry : broken.entries()) {
    const at::NoGradGuard no_grad;
    at::Tensor into = entry.tensor;
    into.copy_(m.parameters().at(entry.name));
  }
  // Whoever gets as far as position 12 has NaN from there on.
  broken.at("model.embed_positions.weight")[12].fill_(std::numeric_limits<float>::quiet_NaN());
  const Transformer with_nan(m.config(), broken);
  Runner runner(with_nan);
  const RequestId good = runner.submit(drawn_request(prompt(5), 7));
  const RequestId bad = runner.submit(drawn_request(prompt(10, 2), 9));
  GenRequest group = drawn_request(prompt(13, 3), 2);
  group.sampling.n = 3;
  const RequestId worse = runner.submit(group);
  GenRequest scored = drawn_request(prompt(14, 4), 1);
  scored.sampling.prompt_logprobs = true;
  const RequestId unscored = runner.submit(scored);
  runner.run();
  Runner want(m);
  EXPECT_EQ(runner.done(good).samples[0].tokens,
            want.complete(drawn_request(prompt(5), 7)).samples[0].tokens);
  const Sample& failed = runner.done(bad).samples[0];
  EXPECT_EQ(failed.reason, FinishReason::Failed);
  EXPECT_FALSE(failed.error.ok());
  EXPECT_THAT(failed.tokens, SizeIs(3));
  for (const Sample& sample : runner.done(worse).samples) {
    EXPECT_EQ(sample.reason, FinishReason::Failed);
  }
  EXPECT_EQ(runner.done(unscored).samples[0].reason, FinishReason::Failed);
  // Blocks that held NaN serve others: what lies behind a sequence's end must not matter.
  for (uint64_t i = 0; i < 12; ++i) {
    const auto got = runner.complete(drawn_request(prompt(7, 50 + i), 5, i)).samples[0];
    EXPECT_EQ(got.tokens, want.complete(drawn_request(prompt(7, 50 + i), 5, i)).samples[0].tokens);
  }
}

/// Fails every call while told to.
class FailingOp : public AttentionOp {
 public:
  explicit FailingOp(std::shared_ptr<const AttentionOp> inner) : inner_(std::move(inner)) {}
  at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const PackedBatch& batch, KvCache* cache) const override {
    SLUICE_CHECK(!(failing && spec.layer == 1)) << "as told";
    return inner_->apply(spec, q, k, v, batch, cache);
  }
  bool failing = false;

 private:
  std::shared_ptr<const AttentionOp> inner_;
};

class FailingStep : public testing::TestWithParam<const char*> {};

TEST_P(FailingStep, IsRolledBackAndRepeated) {
  const Transformer m = model(GetParam());
  GenRequest request = drawn_request(prompt(9), 10);
  request.sampling.n = 3;
  Runner undisturbed(m);
  const Completion want = undisturbed.complete(request);
  auto op = std::make_shared<FailingOp>(std::make_shared<PagedAttentionOp>());
  EngineOptions o = options();
  o.attention = op;
  o.scheduler.token_budget = 5;
  Runner runner(m, o);
  const RequestId id = runner.submit(request);
  for (int i = 0; runner.engine().busy(); ++i) {
    ASSERT_LT(i, 1000);
    op->failing = i % 2 == 0;
    const Status status = runner.engine().step();
    EXPECT_EQ(status.ok(), !op->failing);
    if (!status.ok()) {
      EXPECT_THAT(status.message(), HasSubstr("as told"));
    }
    ASSERT_TRUE(runner.engine().check().ok());
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(runner.done(id).samples[i].tokens, want.samples[i].tokens);
  }
  EXPECT_GT(runner.engine().stats().failed_steps, 3);
}

INSTANTIATE_TEST_SUITE_P(Architectures, FailingStep, testing::Values("llama", "qwen3_next"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Engine, DeadlineEndsARequestWithWhatItHas) {
  Runner runner(model());
  GenRequest request = drawn_request(prompt(5), 50);
  request.deadline = 100;
  const RequestId id = runner.submit(request);
  while (runner.streamed(id).size() < 4) runner.step();
  runner.clock().advance(100);
  runner.run();
  const Sample& sample = runner.done(id).samples[0];
  EXPECT_EQ(sample.reason, FinishReason::Abort);
  EXPECT_EQ(sample.error.code(), Code::DeadlineExceeded);
  EXPECT_THAT(sample.tokens, SizeIs(4));
}

TEST(Engine, OneSampleCanBeEndedFromItsListener) {
  const Transformer m = model();
  VirtualClock clock;
  auto engine = Engine::create(m, options(), kVersion1, clock);
  ASSERT_TRUE(engine.ok());
  GenRequest request = drawn_request(prompt(5), 10);
  request.sampling.n = 2;
  std::vector<Completion> done;
  int seen = 0;
  GenListener listener;
  listener.on_token = [&](const TokenEvent& event) {
    if (event.sample == 1 && ++seen == 3) {
      EXPECT_TRUE((*engine)->finish(event.request, 1, FinishReason::Stop).ok());
      EXPECT_EQ((*engine)->finish(event.request, 1, FinishReason::Stop).code(), Code::NotFound);
    }
  };
  listener.on_done = [&](Completion c) { done.push_back(std::move(c)); };
  ASSERT_TRUE((*engine)->submit(request, listener).ok());
  while ((*engine)->busy()) ASSERT_TRUE((*engine)->step().ok());
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_THAT(done[0].samples[0].tokens, SizeIs(10));
  EXPECT_THAT(done[0].samples[1].tokens, SizeIs(3));
  EXPECT_EQ(done[0].samples[1].reason, FinishReason::Stop);
  EXPECT_TRUE((*engine)->check().ok());
}

TEST(Engine, AbortFromAListenerIsTheLastThatIsHeard) {
  VirtualClock clock;
  auto engine = Engine::create(model(), options(), kVersion1, clock);
  ASSERT_TRUE(engine.ok());
  GenRequest request = drawn_request(prompt(5), 10);
  request.sampling.n = 4;
  int tokens = 0;
  int ended = 0;
  GenListener listener;
  listener.on_token = [&](const TokenEvent& event) {
    EXPECT_EQ(ended, 0);
    if (++tokens == 2) {
      EXPECT_TRUE((*engine)->abort(event.request).ok());
    }
  };
  listener.on_done = [&](const Completion&) { ++ended; };
  ASSERT_TRUE((*engine)->submit(request, listener).ok());
  while ((*engine)->busy()) ASSERT_TRUE((*engine)->step().ok());
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ((*engine)->abort(1).code(), Code::NotFound);
}

}  // namespace
}  // namespace sluice
