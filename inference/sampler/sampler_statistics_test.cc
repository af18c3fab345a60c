// 1e5 draws from eight known logits, for each way to change the distribution.
#include "inference/sampler/sampler.h"
#include "inference/sampler/sampling_reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

struct Case {
  const char* name;
  SamplingParams params{};
};

std::vector<Case> cases() {
  std::vector<Case> out(10);
  out[0].name = "plain";
  out[1].name = "temperature";
  out[1].params.temperature = 0.6F;
  out[2].name = "hot";
  out[2].params.temperature = 3;
  out[3].name = "top_k";
  out[3].params.top_k = 4;
  out[4].name = "top_p";
  out[4].params.top_p = 0.8F;
  out[5].name = "min_p";
  out[5].params.min_p = 0.2F;
  out[6].name = "penalties";
  out[6].params.repetition_penalty = 1.5F;
  out[6].params.presence_penalty = 0.4F;
  out[6].params.frequency_penalty = 0.3F;
  out[7].name = "all";
  out[7].params.temperature = 1.4F;
  out[7].params.top_k = 6;
  out[7].params.top_p = 0.95F;
  out[7].params.min_p = 0.05F;
  out[7].params.presence_penalty = -0.5F;
  out[8].name = "bias";
  out[8].params.logit_bias = {{7, 2.0F}, {0, -1.0F}};
  out[9].name = "allowed";
  out[9].params.allowed_tokens = {6, 1, 3};
  return out;
}

class SamplerStatistics : public testing::TestWithParam<Case> {};

TEST_P(SamplerStatistics, DrawsFollowTheDistribution) {
  constexpr int64_t kDraws = 100'000;
  const std::vector<float> row = {2.0F, 1.0F, 0.5F, 0.0F, -0.5F, 1.5F, -1.0F, -3.0F};
  TokenCounts counts;
  counts.add_prompt(std::vector<int64_t>{0, 3});
  for (const int64_t token : {1, 1, 5}) counts.add_output(token);
  TokenSampler sampler;
  const SamplingParams& params = GetParam().params;
  const std::vector<double> p = reference::distribution(row, params, counts);
  std::vector<int64_t> seen(row.size(), 0);
  for (int64_t i = 0; i < kDraws; ++i) {
    // Half of the draws over samples, half over positions.
    const auto sample = static_cast<uint32_t>(i % 2 == 0 ? i : 0);
    const auto position = static_cast<uint64_t>(i % 2 == 0 ? 5 : i);
    const auto drawn = sampler.sample(row, params, counts, 11, sample, position);
    ASSERT_TRUE(drawn.ok()) << drawn.status().message();
    ++seen[static_cast<size_t>(drawn->token)];
  }
  EXPECT_GT(reference::chi_square_p(seen, p), 0.001);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, SamplerStatistics, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SamplerStatisticsOfRows, ManyTokensAreDrawnAsOftenAsTheyShould) {
  const std::vector<float> row = reference::row(300, 1, 3);
  TokenSampler sampler;
  SamplingParams cut;
  cut.top_p = 0.97F;
  for (const SamplingParams& params : {SamplingParams(), cut}) {
    const std::vector<double> p = reference::distribution(row, params);
    std::vector<int64_t> seen(row.size(), 0);
    for (uint64_t i = 0; i < 50'000; ++i) {
      const auto drawn = sampler.sample(row, params, {}, 5, 0, i);
      ASSERT_TRUE(drawn.ok());
      ++seen[static_cast<size_t>(drawn->token)];
    }
    EXPECT_GT(reference::chi_square_p(seen, p), 0.001);
  }
}

TEST(SamplerStatisticsOfRows, TheTestSeesAWrongDistribution) {
  const std::vector<int64_t> seen = {5200, 4800};
  EXPECT_LT(reference::chi_square_p(seen, std::vector<double>{0.5, 0.5}), 0.001);
  EXPECT_NEAR(
      reference::chi_square_p(std::vector<int64_t>{5050, 4950}, std::vector<double>{0.5, 0.5}),
      std::erfc(std::sqrt(1.0 / 2)), 1e-9);  // one degree of freedom, statistic 1
  EXPECT_EQ(reference::chi_square_p(std::vector<int64_t>{99, 1}, std::vector<double>{1, 0}), 0);
}

}  // namespace
}  // namespace sluice
