#include "trainer/lm/lm_learner_support.h"

#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::lm_test {

Transformer tiny(const std::string& name) {
  auto loaded = golden::load(name);
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  return std::move(loaded->model);
}

std::unique_ptr<LmLearner> learner_of(const LmLearnerConfig& config, const std::string& name) {
  auto learner = LmLearner::create(tiny(name), config);
  EXPECT_TRUE(learner.ok()) << learner.status().to_string();
  return *std::move(learner);
}

const std::vector<TrainSequence>& groups() {
  static const std::vector<TrainSequence> all = {
      {{1, 5, 7, 9}, {{3, 4, 5}, {8}, {2, 6}}},
      {{2, 2}, {{11, 12}, {13, 14, 15, 16}}},
      {{4, 8, 3}, {{10}, {1, 3}}},
  };
  return all;
}

at::Tensor cross_entropy(const MicroOutputs& out, std::span<const size_t>) {
  return -out.logprob.sum() / kTokens;
}

LmLearnerConfig fast() {
  LmLearnerConfig config;
  config.learning_rate = 1e-2;
  return config;
}

std::vector<at::Tensor> weights(const LmLearner& learner) {
  std::vector<at::Tensor> copies;
  for (const auto& entry : learner.parameters()) copies.push_back(entry.tensor.detach().clone());
  return copies;
}

double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, (a[i] - b[i]).abs().max().item<double>());
  }
  return most;
}

}  // namespace sluice::lm_test
