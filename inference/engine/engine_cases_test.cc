// The cases that engines got wrong elsewhere, end to end, bit for bit: seeds beside other requests
// and after preemption, chunks around block bounds, stop rules of several samples, stop texts that
// are half out when their sequence loses its blocks.
#include "inference/engine/engine_support.h"
#include "inference/sampler/byte_tokenizer.h"

#include <gmock/gmock.h>

#include <set>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::Each;
using testing::SizeIs;

void expect_same(const Completion& got, const Completion& want, const std::string& what) {
  ASSERT_EQ(got.samples.size(), want.samples.size()) << what;
  for (size_t i = 0; i < want.samples.size(); ++i) {
    EXPECT_EQ(got.samples[i].tokens, want.samples[i].tokens) << what;
    EXPECT_EQ(got.samples[i].logprobs, want.samples[i].logprobs) << what;
    EXPECT_EQ(got.samples[i].reason, want.samples[i].reason) << what;
    EXPECT_EQ(got.samples[i].text, want.samples[i].text) << what;
  }
}

TEST(EngineCases, EightSamplesOfASeedAreTheSameAloneInABatchOf64AndPreempted) {
  const Transformer m = model();
  GenRequest request = drawn_request(prompt(6), 10, 7);
  request.sampling.n = 8;
  const Completion want = Runner(m, exact_options()).complete(request);
  std::set<std::vector<int64_t>> streams;
  for (const Sample& sample : want.samples) streams.insert(sample.tokens);
  EXPECT_EQ(streams.size(), 8U);
  expect_same(Runner(m, exact_options()).complete(request), want, "again");
  EngineOptions roomy = exact_options();
  roomy.blocks = 400;
  EngineOptions tight = exact_options();
  tight.blocks = 14;
  for (const EngineOptions& o : {roomy, tight}) {
    Runner busy(m, o);
    RequestId id = 0;
    for (uint64_t i = 0; i < 64; ++i) {
      const RequestId other = busy.submit(i == 40 ? request : drawn_request(prompt(6, i), 10, i));
      if (i == 40) id = other;
    }
    busy.run();
    EXPECT_EQ(busy.engine().stats().scheduler.preemptions > 0, o.blocks == tight.blocks);
    expect_same(busy.done(id), want, o.blocks == tight.blocks ? "preempted" : "in a batch");
  }
}

TEST(EngineCases, APromptOf257TokensHasTheSameBitsInAnyChunks) {
  const Transformer m = model();
  GenRequest request = drawn_request(prompt(257), 6);
  request.sampling.prompt_logprobs = true;
  EngineOptions o = exact_options();
  o.blocks = 20;
  o.block_size = 16;
  o.scheduler.token_budget = 1000;
  const Completion want = Runner(m, o).complete(request);
  for (const int64_t chunk : {1, 16, 17, 256}) {
    o.scheduler.token_budget = chunk;
    const Completion got = Runner(m, o).complete(request);
    expect_same(got, want, std::to_string(chunk));
    EXPECT_EQ(got.prompt_logprobs, want.prompt_logprobs) << chunk;
  }
  // Many decode beside it, and its last chunk is one token.
  o.scheduler.token_budget = 64;
  o.scheduler.long_prefill = 32;
  o.blocks = 60;
  Runner beside(m, o);
  for (uint64_t i = 0; i < 6; ++i) beside.submit(drawn_request(prompt(4, i), 30, i));
  expect_same(beside.complete(request), want, "beside others");
}

TEST(EngineCases, PreemptedAtOneTokenBehindABlock) {
  const Transformer m = model();
  int64_t preemptions = 0;
  for (const int64_t length : {15, 16, 17, 31, 32, 33}) {
    EngineOptions o = exact_options();
    o.block_size = 16;
    const GenRequest first = drawn_request(prompt(length, 1), 20, 1);
    const GenRequest second = drawn_request(prompt(length, 2), 20, 2);
    const Completion want = Runner(m, o).complete(second);
    // Both begin, one has to give way.
    o.blocks = static_cast<int32_t>((length + 20 + 15) / 16 + (length + 15) / 16);
    Runner crowded(m, o);
    crowded.submit(first);
    const RequestId id = crowded.submit(second);
    crowded.run();
    expect_same(crowded.done(id), want, std::to_string(length));
    preemptions += crowded.engine().stats().scheduler.preemptions;
  }
  EXPECT_GE(preemptions, 4);
}

TEST(EngineCases, FourMinTokensThenTheEndForEverySample) {
  const Transformer m = model();
  EngineOptions o = options();
  o.end_tokens = {5, 9};
  Runner runner(m, o);
  GenRequest request = drawn_request(prompt(5), 20);
  request.sampling.n = 3;
  request.sampling.min_tokens = 4;
  request.sampling.logit_bias = {{5, 100.0F}, {9, 100.0F}};
  for (const Sample& sample : runner.complete(request).samples) {
    ASSERT_THAT(sample.tokens, SizeIs(5));
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(sample.tokens[i] != 5 && sample.tokens[i] != 9);
    EXPECT_TRUE(sample.tokens[4] == 5 || sample.tokens[4] == 9);
    EXPECT_EQ(sample.reason, FinishReason::Stop);
  }
  request.sampling.min_tokens = 0;
  request.sampling.ignore_eos = true;
  for (const Sample& sample : runner.complete(request).samples) {
    EXPECT_THAT(sample.tokens, SizeIs(20));
    EXPECT_EQ(sample.reason, FinishReason::Length);
    EXPECT_THAT(sample.tokens, Each(testing::AnyOf(5, 9)));
  }
}

TEST(EngineCases, StopTextsOutliveThePreemptionOfTheirSequence) {
  const Transformer m = model();
  EngineOptions o = exact_options();
  o.tokenizer = byte_tokenizer();
  GenRequest request = greedy_request(prompt(5), 24);
  const Completion all = Runner(m, o).complete(request);
  const std::string text = all.samples[0].text;
  ASSERT_GE(text.size(), 20U);
  request.sampling.stop = {text.substr(9, 10)};  // long: half of it is known when blocks run out
  request.sampling.min_tokens = 12;
  const Completion want = Runner(m, o).complete(request);
  EXPECT_EQ(want.samples[0].reason, FinishReason::Stop);
  o.blocks = 10;
  bool preempted = false;
  for (uint64_t others = 1; others < 5; ++others) {
    Runner crowded(m, o);
    for (uint64_t i = 0; i < others; ++i) {
      crowded.submit(drawn_request(prompt(4 + static_cast<int64_t>(others), i), 20, i));
    }
    const RequestId id = crowded.submit(request);
    crowded.run();
    preempted = preempted || crowded.engine().stats().scheduler.preemptions > 0;
    expect_same(crowded.done(id), want, std::to_string(others));
  }
  EXPECT_TRUE(preempted);
}

TEST(EngineCases, AdmissionDoesNotDependOnTheOrderOfScoredPrompts) {
  const Transformer m = model();
  std::vector<std::vector<float>> want;
  for (const bool backwards : {false, true}) {
    Runner runner(m, exact_options());
    std::vector<RequestId> ids(5);
    for (uint64_t at = 0; at < 5; ++at) {
      const uint64_t i = backwards ? 4 - at : at;
      GenRequest request = drawn_request(prompt(9 + static_cast<int64_t>(i)), 1);
      request.sampling.prompt_logprobs = true;
      ids[i] = runner.submit(request);
    }
    runner.run();
    std::vector<std::vector<float>> got;
    for (const RequestId id : ids) got.push_back(runner.done(id).prompt_logprobs);
    if (backwards) {
      EXPECT_EQ(got, want);
    } else {
      want = got;
    }
  }
}

TEST(EngineCases, NumbersOfSamplesMustFit) {
  Runner runner(model());
  GenRequest request = drawn_request(prompt(4), 2);
  request.first_sample = 0xFFFFFFFF;
  EXPECT_EQ(runner.engine().submit(request, {}).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace sluice
