#include "inference/sampler/sampler.h"

#include "inference/sampler/sampling_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace sluice {
namespace {
using testing::HasSubstr;

SampledToken must(Result<SampledToken> drawn) {
  EXPECT_TRUE(drawn.ok()) << drawn.status().message();
  return drawn.ok() ? *std::move(drawn) : SampledToken();
}

SampledToken draw(std::span<const float> row, const SamplingParams& params, uint64_t position = 0,
                  const TokenCounts& counts = {}, const TokenLimits& limits = {}) {
  TokenSampler sampler;
  return must(sampler.sample(row, params, counts, 7, 0, position, limits));
}

double entropy(const std::vector<double>& logprobs) {
  double sum = 0;
  for (const double lp : logprobs) sum -= std::exp(lp) * lp;
  return sum;
}

std::vector<SamplingParams> variety() {
  std::vector<SamplingParams> out(12);
  out[1].temperature = 0.6F;
  out[2].temperature = 2.5F;
  out[3].top_k = 1;
  out[4].top_k = 50;
  out[5].top_k = 900;
  out[6].top_p = 0.9F;
  out[7].top_p = 0.999F;
  out[8].min_p = 0.1F;
  out[9].top_k = 40;
  out[9].top_p = 0.7F;
  out[9].temperature = 0.8F;
  out[10].temperature = 1.3F;
  out[10].top_p = 0.5F;
  out[10].min_p = 0.02F;
  out[11].top_p = 1e-6F;
  return out;
}

TEST(TokenSampler, DistributionEqualsDoublesAndFullSorts) {
  TokenSampler sampler;
  for (const int64_t n : {1, 8, 63, 64, 1000, 5000}) {
    for (const float scale : {0.0F, 0.01F, 1.0F, 10.0F}) {
      const std::vector<float> row = reference::row(n, scale, static_cast<uint64_t>(n));
      for (SamplingParams params : variety()) {
        params.top_k = std::min(params.top_k, static_cast<int32_t>(n));
        // With equal logits the nucleus ends where sums round; leave that alone.
        if (scale == 0 && params.top_p < 1) continue;
        const auto got = sampler.distribution(row, params, {});
        ASSERT_TRUE(got.ok()) << got.status().message();
        const std::vector<double> want = reference::distribution(row, params);
        std::vector<double> all(row.size(), 0);
        for (const TokenProbability& p : *got) all[static_cast<size_t>(p.token)] = p.probability;
        for (size_t i = 0; i < all.size(); ++i) {
          if (want[i] < 1e-36 && want[i] > 0) continue;  // below what a float weight can be
          ASSERT_EQ(all[i] > 0, want[i] > 0)
              << "token " << i << " of " << n << " scale " << scale << " top_p " << params.top_p;
          if (want[i] == 0) continue;
          ASSERT_NEAR(std::log(all[i]), std::log(want[i]), 1e-5);
        }
      }
    }
  }
}

TEST(TokenSampler, LogprobsAndEntropyEqualDoubles) {
  const std::vector<float> row = reference::row(5000, 4, 1);
  for (const SamplingParams& params : variety()) {
    const auto temperature = reference::log_softmax(row, static_cast<double>(params.temperature));
    const std::vector<double> p = reference::distribution(row, params);
    for (uint64_t position = 0; position < 50; ++position) {
      const SampledToken got = draw(row, params, position);
      const auto at = static_cast<size_t>(got.token);
      ASSERT_GT(p[at], 0);
      EXPECT_NEAR(got.logprob, std::log(p[at]), 1e-5);
      EXPECT_NEAR(got.logprob_temperature, temperature[at], 1e-5);
      EXPECT_NEAR(got.entropy, entropy(temperature), 1e-4);
      EXPECT_EQ(got.kept, std::count_if(p.begin(), p.end(), [](double v) { return v > 0; }));
    }
  }
}

TEST(TokenSampler, CutDistributionIsRenormalisedOverWhatIsKept) {
  const std::vector<float> row = reference::row(300, 2, 9);
  SamplingParams params;
  params.top_p = 0.9F;
  const std::vector<double> whole = reference::log_softmax(row, 1);
  const std::vector<double> p = reference::distribution(row, params);
  double mass = 0;
  for (size_t i = 0; i < row.size(); ++i) mass += p[i] > 0 ? std::exp(whole[i]) : 0;
  const SampledToken got = draw(row, params);
  EXPECT_NEAR(got.logprob, got.logprob_temperature - std::log(mass), 1e-5);
  params.top_k = 1;
  EXPECT_EQ(draw(row, params).logprob, 0.0F);
  EXPECT_EQ(draw(row, params).kept, 1);
}

TEST(TokenSampler, WithoutCutsBothLogprobsAreTheSameBits) {
  const std::vector<float> row = reference::row(777, 3, 2);
  SamplingParams params;
  params.temperature = 0.7F;
  for (uint64_t i = 0; i < 20; ++i) {
    const SampledToken got = draw(row, params, i);
    EXPECT_EQ(got.logprob, got.logprob_temperature);
  }
}

TEST(TokenSampler, GreedyTakesTheFirstOfTheGreatest) {
  std::vector<float> row = reference::row(500, 1, 4);
  row[70] = row[300] = 9;
  SamplingParams params;
  for (const float temperature : {0.0F, 9e-6F}) {
    params.temperature = temperature;
    const SampledToken got = draw(row, params);
    EXPECT_EQ(got.token, 70);
    EXPECT_EQ(got.logprob, 0.0F);
    EXPECT_EQ(got.kept, 1);
    EXPECT_NEAR(got.logprob_temperature, reference::log_softmax(row, 1)[70], 1e-5);
  }
  params.logit_bias = {{5, 50.0F}};
  EXPECT_EQ(draw(row, params).token, 5);
}

TEST(TokenSampler, OfEqualLogitsTheLowerIdsAreKept) {
  const std::vector<float> row(200, 1.0F);
  SamplingParams params;
  params.top_k = 3;
  std::set<int64_t> seen;
  for (uint64_t i = 0; i < 200; ++i) seen.insert(draw(row, params, i).token);
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1, 2}));
}

TEST(TokenSampler, TinyTemperatureAndHugeLogitsStayFinite) {
  std::vector<float> row = reference::row(100, 1000, 4);
  row[3] = 1e30F;
  row[4] = -INFINITY;
  SamplingParams params;
  params.temperature = 1.1e-5F;
  params.top_logprobs = 5;
  const SampledToken got = draw(row, params);
  EXPECT_EQ(got.token, 3);
  EXPECT_EQ(got.logprob, 0.0F);
  EXPECT_TRUE(std::isfinite(got.entropy));
  for (const TokenLogprob& t : got.top) EXPECT_TRUE(std::isfinite(t.logprob));
}

TEST(TokenSampler, TopLogprobsAreOfTheTemperatureAlone) {
  const std::vector<float> row = reference::row(1000, 2, 6);
  SamplingParams params;
  params.temperature = 0.6F;
  params.top_p = 0.1F;
  params.logit_bias = {{17, 50.0F}};
  params.top_logprobs = 5;
  const SampledToken got = draw(row, params);
  EXPECT_EQ(got.token, 17);
  const auto want = reference::log_softmax(row, 0.6F);
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return want[static_cast<size_t>(a)] > want[static_cast<size_t>(b)];
  });
  ASSERT_EQ(got.top.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got.top[i].token, order[i]);
    EXPECT_NEAR(got.top[i].logprob, want[static_cast<size_t>(order[i])], 1e-5);
  }
}

TEST(TokenSampler, BrokenRowsFail) {
  TokenSampler sampler;
  for (const float bad : {NAN, INFINITY}) {
    for (const size_t at : {0, 77, 199}) {
      std::vector<float> row = reference::row(200, 1, 4);
      row[at] = bad;
      for (const float temperature : {0.0F, 0.5F, 1.0F}) {
        SamplingParams params;
        params.temperature = temperature;
        const auto got = sampler.sample(row, params, {}, 1, 0, 0);
        EXPECT_EQ(got.status().code(), Code::DataLoss);
        EXPECT_THAT(got.status().message(), HasSubstr("NaN or infinity"));
      }
    }
  }
  const std::vector<float> empty(100, -INFINITY);
  EXPECT_EQ(sampler.sample(empty, {}, {}, 1, 0, 0).status().message(),
            "the model's logits are all -inf");
  // The same sampler goes on.
  EXPECT_TRUE(sampler.sample(reference::row(200, 1, 4), {}, {}, 1, 0, 0).ok());
}

TEST(TokenSampler, MasksThatLeaveNothingFail) {
  TokenSampler sampler;
  const std::vector<float> row = reference::row(100, 1, 4);
  const TokenMask none(100);
  EXPECT_EQ(sampler.sample(row, {}, {}, 1, 0, 0, {&none, {}}).status().code(),
            Code::FailedPrecondition);
  SamplingParams params;
  params.allowed_tokens = {3};
  params.stop_token_ids = {3};
  params.min_tokens = 1;
  EXPECT_EQ(sampler.sample(row, params, {}, 1, 0, 0).status().code(), Code::FailedPrecondition);
}

TEST(TokenSampler, MaskAllowsExactlyItsTokens) {
  const std::vector<float> row = reference::row(300, 1, 4);
  TokenMask mask(300);
  for (const int64_t token : {0, 63, 64, 299}) mask.allow(token);
  const TokenLimits limits{&mask, {}};
  std::set<int64_t> seen;
  for (uint64_t i = 0; i < 300; ++i) seen.insert(draw(row, {}, i, {}, limits).token);
  EXPECT_EQ(seen, (std::set<int64_t>{0, 63, 64, 299}));
  EXPECT_EQ(draw(row, {}, 0, {}, limits).kept, 4);
}

TEST(TokenSampler, MinTokensHoldsBackEveryStopId) {
  const std::vector<float> row(50, 0.0F);
  const std::vector<int64_t> eos = {2, 9};
  SamplingParams params;
  params.min_tokens = 4;
  params.max_tokens = 100;
  params.stop_token_ids = {30};
  params.logit_bias = {{2, 100.0F}, {9, 90.0F}, {30, 80.0F}};
  TokenCounts counts;
  for (int64_t i = 0; i < 4; ++i) {
    const SampledToken got = draw(row, params, static_cast<uint64_t>(i), counts, {nullptr, eos});
    EXPECT_NE(got.token, 2);
    EXPECT_NE(got.token, 9);
    EXPECT_NE(got.token, 30);
    counts.add_output(got.token);
  }
  EXPECT_EQ(draw(row, params, 4, counts, {nullptr, eos}).token, 2);
  params.ignore_eos = true;  // then they are tokens as any other
  EXPECT_EQ(draw(row, params, 0, {}, {nullptr, eos}).token, 2);
}

TEST(TokenSampler, PenaltiesCoverWhatTheySay) {
  const std::vector<float> row = {1.0F, 1.0F, 1.0F, -1.0F};
  TokenCounts counts;
  counts.add_prompt(std::vector<int64_t>{1, 3});
  counts.add_output(2);
  counts.add_output(2);
  const auto logits = [&](const SamplingParams& params) {
    std::vector<float> out(4);
    process_logits(row, params, counts, {}, out);
    return out;
  };
  SamplingParams params;
  params.repetition_penalty = 2;
  EXPECT_EQ(logits(params), (std::vector<float>{1.0F, 0.5F, 0.5F, -2.0F}));
  params.repetition_penalty = 1;
  params.presence_penalty = 0.25F;
  EXPECT_EQ(logits(params), (std::vector<float>{1.0F, 1.0F, 0.75F, -1.0F}));
  params.presence_penalty = 0;
  params.frequency_penalty = 0.25F;
  EXPECT_EQ(logits(params), (std::vector<float>{1.0F, 1.0F, 0.5F, -1.0F}));
}

TEST(TokenSampler, SameSeedSameTokensAndStreamsDiffer) {
  const std::vector<float> row = reference::row(1000, 1, 8);
  const auto stream = [&](uint64_t seed, uint32_t sample) {
    TokenSampler sampler;
    std::vector<int64_t> out;
    for (uint64_t i = 0; i < 32; ++i) {
      out.push_back(must(sampler.sample(row, {}, {}, seed, sample, i)).token);
    }
    return out;
  };
  std::set<std::vector<int64_t>> streams;
  for (uint32_t sample = 0; sample < 8; ++sample) {
    EXPECT_EQ(stream(7, sample), stream(7, sample));
    streams.insert(stream(7, sample));
    streams.insert(stream(8, sample));
  }
  EXPECT_EQ(streams.size(), 16U);
}

TEST(TokenSampler, ADrawDoesNotDependOnThoseBefore) {
  const std::vector<float> row = reference::row(2000, 2, 8);
  TokenSampler busy;
  for (const SamplingParams& params : variety()) {
    for (uint64_t i = 0; i < 5; ++i) {
      const auto other = reference::row(4000, 1, i);
      must(busy.sample(other, variety()[i + 3], {}, i, 3, i));
      const SampledToken got = must(busy.sample(row, params, {}, 7, 0, i));
      const SampledToken alone = draw(row, params, i);
      EXPECT_EQ(got.token, alone.token);
      EXPECT_EQ(got.logprob, alone.logprob);
    }
  }
}

TEST(TokenSampler, ScoreGivesTheTemperatureLogprobOfAnyToken) {
  const std::vector<float> row = reference::row(400, 2, 8);
  SamplingParams params;
  params.temperature = 0.6F;
  params.top_k = 1;
  params.top_logprobs = 2;
  TokenSampler sampler;
  const auto want = reference::log_softmax(row, 0.6F);
  for (const int64_t token : {0, 399}) {
    const SampledToken got = must(sampler.score(row, token, params));
    EXPECT_EQ(got.token, token);
    EXPECT_NEAR(got.logprob, want[static_cast<size_t>(token)], 1e-5);
    EXPECT_EQ(got.top.size(), 2U);
  }
  EXPECT_EQ(sampler.score(row, 400, params).status().code(), Code::OutOfRange);
}

TEST(TokenCounts, CountsManyTokens) {
  TokenCounts counts;
  std::vector<int64_t> prompt(1000);
  std::iota(prompt.begin(), prompt.end(), 500);
  counts.add_prompt(prompt);
  for (int64_t i = 0; i < 1000; ++i) {
    counts.add_output(i);
    counts.add_output(7);
  }
  EXPECT_EQ(counts.generated(), 2000);
  EXPECT_EQ(counts.entries().size(), 1500U);
  for (const auto& entry : counts.entries()) {
    EXPECT_EQ(entry.in_prompt, entry.token >= 500);
    EXPECT_EQ(entry.output, entry.token == 7 ? 1001 : entry.token < 1000 ? 1 : 0);
  }
}

}  // namespace
}  // namespace sluice
