#include "models/nets/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice {
namespace {

TEST(Categorical, SamplesFollowTheProbabilities) {
  const float logits[] = {std::log(0.1F), std::log(0.6F), std::log(0.3F)};
  int counts[3] = {};
  const RandomKey key(1);
  for (uint64_t i = 0; i < 100000; ++i) {
    float log_prob = 0;
    const int64_t a = categorical_sample(logits, 3, key.uniform(i), &log_prob);
    ++counts[a];
    ASSERT_NEAR(log_prob, logits[a], 1e-5);
  }
  EXPECT_NEAR(counts[0], 10000, 400);
  EXPECT_NEAR(counts[1], 60000, 700);
  EXPECT_EQ(categorical_mode(logits, 3), 1);
  EXPECT_NEAR(categorical_entropy(logits, 3), 0.897946, 1e-5);
  EXPECT_NEAR(categorical_log_prob(logits, 3, 2), std::log(0.3F), 1e-6);
}

TEST(Categorical, AnImpossibleChoiceIsNeverDrawn) {
  const float masked = -INFINITY;
  const float logits[] = {1, masked, 3, masked};
  EXPECT_EQ(categorical_sample(logits, 4, 0.99999994F, nullptr), 2);
  EXPECT_EQ(categorical_sample(logits, 4, 0.0F, nullptr), 0);
  EXPECT_NEAR(categorical_entropy(logits, 4), 0.365334, 1e-5);
}

TEST(Gaussian, MatchesTheClosedForms) {
  const float mean[] = {0.5F, -1}, log_std[] = {std::log(0.5F), 0}, action[] = {1, 0};
  EXPECT_NEAR(gaussian_entropy(log_std, 1), 0.7257914, 1e-6);
  EXPECT_NEAR(gaussian_log_prob(mean, log_std, action, 2),
              -0.5 - std::log(0.5) - 0.9189385 - 0.5 - 0.9189385, 1e-5);
  double sum = 0, square = 0;
  const int n = 20000;
  for (uint64_t i = 0; i < n; ++i) {
    float drawn[2];
    const float log_prob = gaussian_sample(mean, log_std, 2, RandomKey(3), i, drawn);
    ASSERT_NEAR(log_prob, gaussian_log_prob(mean, log_std, drawn, 2), 1e-5);
    sum += static_cast<double>(drawn[0]);
    square += static_cast<double>(drawn[0]) * static_cast<double>(drawn[0]);
  }
  EXPECT_NEAR(sum / n, 0.5, 0.02);
  EXPECT_NEAR(std::sqrt(square / n - 0.25), 0.5, 0.02);
}

TEST(SampleActions, ADrawDependsOnSlotAndStepNotOnTheBatch) {
  for (const Head& head : {Head::categorical(4), Head::gaussian(3)}) {
    const int64_t rows = 9;
    std::vector<float> outputs, log_std(3, -0.2F);
    std::vector<RandomKey> keys;
    std::vector<uint64_t> steps;
    for (int64_t r = 0; r < rows; ++r) {
      keys.push_back(RandomKey(5).split(static_cast<uint64_t>(r)));
      steps.push_back(static_cast<uint64_t>(r * 7));
      for (int64_t j = 0; j < head.size; ++j)
        outputs.push_back(RandomKey(6).normal(outputs.size())[0]);
    }
    std::vector<int64_t> choice(9), one_choice(1);
    std::vector<float> value(27), log_prob(9), one_value(3), one_log_prob(1);
    sample_actions(head, outputs.data(), log_std.data(), rows, keys.data(), steps.data(),
                   {choice.data(), value.data()}, log_prob.data());
    for (size_t r = 0; r < 9; ++r) {
      sample_actions(head, outputs.data() + static_cast<int64_t>(r) * head.size, log_std.data(), 1,
                     &keys[r], &steps[r], {one_choice.data(), one_value.data()},
                     one_log_prob.data());
      EXPECT_EQ(one_log_prob[0], log_prob[r]);
      if (head.discrete()) {
        EXPECT_EQ(one_choice[0], choice[r]);
      } else {
        EXPECT_EQ(one_value[2], value[r * 3 + 2]);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
