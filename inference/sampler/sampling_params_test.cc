#include "inference/sampler/sampling_params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace sluice {
namespace {
using testing::HasSubstr;

constexpr int64_t kVocabulary = 100;

TEST(SamplingParams, DefaultsAndExtremesAreFine) {
  EXPECT_TRUE(check({}, kVocabulary).ok());
  SamplingParams p;
  p.temperature = 0;
  p.top_k = 1 << 30;
  p.top_p = 1e-9F;
  p.min_p = 1;
  p.n = SamplingParams::kMaxSamples;
  p.logit_bias = {{0, -100.0F}, {99, 100.0F}};
  p.allowed_tokens = {0, 99};
  p.stop_token_ids = {99};
  p.stop = {"\n\n", "é"};
  p.max_tokens = p.min_tokens = 7;
  p.top_logprobs = 20;
  EXPECT_TRUE(check(p, kVocabulary).ok());
}

TEST(SamplingParams, EveryFaultIsNamedInOneLine) {
  struct Case {
    std::function<void(SamplingParams&)> spoil;
    const char* message;
  };
  const Case cases[] = {
      {[](auto& p) { p.n = 0; }, "n must lie in [1, 1024], not 0"},
      {[](auto& p) { p.n = 1 << 30; }, "n must lie in [1, 1024]"},
      {[](auto& p) { p.temperature = -1; }, "temperature must be 0 or more and finite, not -1"},
      {[](auto& p) { p.temperature = NAN; }, "temperature must be 0 or more and finite, not nan"},
      {[](auto& p) { p.temperature = INFINITY; }, "temperature"},
      {[](auto& p) { p.top_k = -1; }, "top_k must be 0 (off) or more, not -1"},
      {[](auto& p) { p.top_p = 0; }, "top_p must be above 0 and at most 1, not 0"},
      {[](auto& p) { p.top_p = 1.5F; }, "top_p must be above 0 and at most 1, not 1.5"},
      {[](auto& p) { p.min_p = 2; }, "min_p must lie in [0, 1], not 2"},
      {[](auto& p) { p.repetition_penalty = 0; }, "repetition_penalty must be above 0"},
      {[](auto& p) { p.presence_penalty = 3; }, "presence_penalty must lie in [-2, 2], not 3"},
      {[](auto& p) { p.frequency_penalty = NAN; }, "frequency_penalty must lie in [-2, 2]"},
      {[](auto& p) {
         p.stop_token_ids = {1, 100};
       },
       "stop_token_ids names token 100, the vocabulary has 100"},
      {[](auto& p) {
         p.logit_bias = {{-1, 1.0F}};
       },
       "logit_bias names token -1"},
      {[](auto& p) {
         p.logit_bias = {{5, INFINITY}};
       },
       "logit_bias of token 5 must be finite"},
      {[](auto& p) { p.allowed_tokens = {1 << 20}; }, "allowed_tokens names token 1048576"},
      {[](auto& p) { p.max_tokens = 0; }, "max_tokens must be 1 or more"},
      {[](auto& p) { p.min_tokens = 17; }, "min_tokens 17 is more than max_tokens 16"},
      {[](auto& p) { p.min_tokens = -1; }, "min_tokens must be 0 or more, not -1"},
      {[](auto& p) { p.top_logprobs = 5000; }, "top_logprobs must lie in [0, 1024], not 5000"},
      {[](auto& p) { p.stop = {""}; }, "a stop string must have 1 to 1024 bytes, not 0"},
      {[](auto& p) { p.stop = {"\xff"}; }, "a stop string is not valid UTF-8"},
      {[](auto& p) { p.stop.assign(65, "x"); }, "stop has 65 strings; at most 64 are taken"},
  };
  for (const Case& c : cases) {
    SamplingParams p;
    c.spoil(p);
    const Status status = check(p, kVocabulary);
    EXPECT_EQ(status.code(), Code::InvalidArgument) << c.message;
    EXPECT_THAT(status.message(), HasSubstr(c.message));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(SamplingParams, AllFaultsAreListed) {
  SamplingParams p;
  p.n = 0;
  p.top_p = 7;
  EXPECT_EQ(check(p, kVocabulary).message(),
            "top_p must be above 0 and at most 1, not 7; n must lie in [1, 1024], not 0");
}

TEST(SamplingParams, ScoringAPromptNeedsNoNewToken) {
  SamplingParams p;
  p.max_tokens = 0;
  p.prompt_logprobs = true;
  EXPECT_TRUE(check(p, kVocabulary).ok());
}

}  // namespace
}  // namespace sluice
