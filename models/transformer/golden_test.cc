// Every architecture against `transformers`: logits and the gradient of every parameter.
#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

namespace sluice {
namespace {

constexpr double kLogitTolerance = 1e-4;
constexpr double kGradientTolerance = 1e-4;  // of the largest entry of the gradient
// What rounding leaves of a gradient that is zero, as that of a key's bias under the softmax.
constexpr double kGradientNoise = 1e-7;

at::Tensor scores(const Transformer& model, const PackedBatch& batch) {
  const at::Tensor hidden = model.forward(batch);
  return model.config().head == HeadKind::Classifier ? model.classify(hidden, batch)
                                                     : model.logits(hidden);
}

/// The loss of make_golden.py.
at::Tensor loss_of(const Transformer& model, const PackedBatch& batch, const at::Tensor& scores) {
  if (model.config().head == HeadKind::Classifier) return 0.5 * scores.square().sum();
  std::vector<at::Tensor> rows;
  std::vector<at::Tensor> targets;
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(i)];
    rows.push_back(scores.narrow(0, begin, batch.length(i) - 1));
    targets.push_back(batch.tokens.narrow(0, begin + 1, batch.length(i) - 1));
  }
  return at::cross_entropy_loss(at::cat(rows), at::cat(targets));
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, LogitsEqualTransformers) {
  auto loaded = golden::load(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  const at::NoGradGuard no_grad;
  const at::Tensor got = scores(loaded->model, loaded->batch);
  const at::Tensor want = loaded->golden.at("logits");
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LE((got - want).abs().max().item<double>(), kLogitTolerance);
}

TEST_P(Golden, GradientsEqualTransformers) {
  auto loaded = golden::load(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  Parameters parameters = loaded->model.parameters();
  parameters.requires_grad(true);
  const at::Tensor loss =
      loss_of(loaded->model, loaded->batch, scores(loaded->model, loaded->batch));
  EXPECT_NEAR(loss.item<double>(), loaded->golden.at("loss").item<double>(), 1e-4);
  loss.backward();
  // A gradient is laid out in the checkpoint as its parameter is.
  const auto want =
      load_parameters(loaded->model.config(), golden::reader(loaded->golden, "grad."));
  ASSERT_TRUE(want.ok()) << want.status().to_string();
  for (const auto& [name, tensor] : parameters.entries()) {
    const at::Tensor expected = want->at(name);
    ASSERT_TRUE(tensor.grad().defined()) << name;
    const double scale = expected.abs().max().item<double>();
    EXPECT_GT(scale, 0) << name;
    EXPECT_LE((tensor.grad() - expected).abs().max().item<double>(),
              kGradientTolerance * scale + kGradientNoise)
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Golden, testing::ValuesIn(golden::models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice
