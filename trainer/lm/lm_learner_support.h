#pragma once
#include "trainer/lm/lm_learner.h"

/// For tests: a tiny learner and what it learns from.
namespace sluice::lm_test {

/// The tiny model NAME of models/transformer/testdata.
[[nodiscard]] Transformer tiny(const std::string& name = "llama");
[[nodiscard]] std::unique_ptr<LmLearner> learner_of(const LmLearnerConfig& config,
                                                    const std::string& name = "llama");
/// A learning rate at which a few steps show.
[[nodiscard]] LmLearnerConfig fast();

/// Three groups, kTokens response tokens in all.
[[nodiscard]] const std::vector<TrainSequence>& groups();
inline constexpr double kTokens = 15;
/// Mean negative log-prob over the tokens of all groups.
[[nodiscard]] at::Tensor cross_entropy(const MicroOutputs& out, std::span<const size_t> which);

/// Copies of the trained tensors, and the largest difference between two such sets.
[[nodiscard]] std::vector<at::Tensor> weights(const LmLearner& learner);
[[nodiscard]] double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

}  // namespace sluice::lm_test
