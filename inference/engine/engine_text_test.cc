#include "inference/engine/engine_support.h"
#include "inference/sampler/byte_tokenizer.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

/// The text of tokens that are bytes.
std::string bytes_of(const std::vector<int64_t>& tokens) {
  return std::string(tokens.begin(), tokens.end());
}

EngineOptions with_text() {
  EngineOptions o = options();
  o.tokenizer = byte_tokenizer();
  return o;
}

TEST(EngineText, IsThatOfTheTokensAndComesInPieces) {
  const Transformer m = model();
  VirtualClock clock;
  auto engine = Engine::create(m, with_text(), kVersion1, clock);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::string streamed;
  Completion done;
  GenListener listener;
  listener.on_token = [&](const TokenEvent& event) { streamed += event.text; };
  listener.on_done = [&](Completion c) { done = std::move(c); };
  ASSERT_TRUE((*engine)->submit(greedy_request(prompt(5), 12), listener).ok());
  while ((*engine)->busy()) ASSERT_TRUE((*engine)->step().ok());
  ASSERT_EQ(done.samples.size(), 1U);
  EXPECT_EQ(done.samples[0].text, bytes_of(done.samples[0].tokens));
  EXPECT_EQ(streamed, done.samples[0].text);
}

TEST(EngineText, StopStringEndsASampleWithTheTokenThatCompletedIt) {
  const Transformer m = model();
  Runner plain(m);
  const std::vector<int64_t> all = plain.complete(greedy_request(prompt(5), 12)).samples[0].tokens;
  const std::string text = bytes_of(all);
  const std::string stop = text.substr(4, 3);
  const size_t at = text.find(stop);
  Runner runner(m, with_text());
  GenRequest request = greedy_request(prompt(5), 12);
  request.sampling.stop = {stop};
  const Sample sample = runner.complete(request).samples[0];
  EXPECT_EQ(sample.reason, FinishReason::Stop);
  EXPECT_EQ(sample.text, text.substr(0, at));
  EXPECT_EQ(bytes_of(sample.tokens), text.substr(0, at + 3));
  EXPECT_EQ(sample.logprobs.size(), sample.tokens.size());
  request.sampling.include_stop_string = true;
  EXPECT_EQ(runner.complete(request).samples[0].text, text.substr(0, at + 3));
  request.sampling.min_tokens = 12;
  EXPECT_EQ(runner.complete(request).samples[0].tokens, all);
}

TEST(EngineText, StopStringsNeedATokenizer) {
  Runner runner(model());
  GenRequest request = greedy_request(prompt(5), 12);
  request.sampling.stop = {"x"};
  EXPECT_THAT(runner.engine().submit(request, {}).status().message(),
              HasSubstr("need a tokenizer"));
  EXPECT_TRUE(runner.engine().check().ok());
}

}  // namespace
}  // namespace sluice
