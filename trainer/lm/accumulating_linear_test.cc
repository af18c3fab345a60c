#include "trainer/lm/accumulating_linear.h"

#include "models/transformer/golden_support.h"
#include "models/transformer/logprobs/model_logprobs.h"
#include "trainer/lm/flat_parameters.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

namespace sluice {
namespace {

/// The gradients of a loss on a golden batch, twice over.
std::vector<std::pair<std::string, at::Tensor>> gradients(const Transformer& model,
                                                          const PackedBatch& batch,
                                                          bool with_head) {
  for (int i = 0; i < 2; ++i) {
    if (with_head) {
      LmHead head = lm_head(model);
      head.weight_gradient = head.weight.grad();
      const auto out = token_logprobs(model.forward(batch), head, batch.tokens);
      EXPECT_TRUE(out.ok());
      out->logprob.sum().backward();
    } else {
      model.forward(batch).square().sum().backward();
    }
  }
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (const auto& [name, tensor] : model.parameters().entries()) {
    result.emplace_back(name, tensor.grad().defined() ? tensor.grad().clone() : at::Tensor());
  }
  return result;
}

class Accumulating : public testing::TestWithParam<const char*> {};

TEST_P(Accumulating, AddsTheGradientsThatAutogradGives) {
  for (const bool with_head : {false, true}) {
    auto loaded = golden::load(GetParam());
    auto plain = golden::load(GetParam());
    ASSERT_TRUE(loaded.ok() && plain.ok());
    Parameters parameters = plain->model.parameters();
    parameters.requires_grad(true);
    const auto want = gradients(plain->model, plain->batch, with_head);
    std::vector<Trained> trained;
    std::map<std::string, std::string> groups;
    for (const auto& spec : parameter_specs(loaded->model.config())) groups[spec.name] = spec.group;
    for (const auto& [name, tensor] : loaded->model.parameters().entries()) {
      trained.push_back({name, tensor, groups[name], true});
    }
    const FlatParameters flat(trained);
    loaded->model.use(std::make_shared<AccumulatingLinearOp>());
    const auto got = gradients(loaded->model, loaded->batch, with_head);
    for (size_t i = 0; i < want.size(); ++i) {
      if (!want[i].second.defined()) {
        EXPECT_EQ(got[i].second.abs().max().item<double>(), 0) << want[i].first;
        continue;
      }
      const double scale = std::max(1.0, want[i].second.abs().max().item<double>());
      EXPECT_LE((got[i].second - want[i].second).abs().max().item<double>(), 1e-5 * scale)
          << want[i].first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Accumulating,
                         testing::Values("llama", "qwen2", "gpt2", "mixtral", "gemma2"),
                         [](const auto& info) { return info.param; });

TEST(AccumulatingLinearOp, LeavesWeightsWithoutAGradientToAutograd) {
  const AccumulatingLinearOp op;
  const Linear layer{"l", at::ones({2, 3}).requires_grad_(true), {}};
  op.apply(layer, at::ones({4, 3})).sum().backward();
  EXPECT_EQ(layer.weight.grad().sum().item<double>(), 24);
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(op.apply(layer, at::ones({4, 3})).requires_grad());
}

}  // namespace
}  // namespace sluice
