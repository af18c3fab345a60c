#include "inference/kernels/exact_attention_op.h"
#include "inference/kernels/exact_linear_op.h"
#include "inference/kernels/packed_linear_op.h"
#include "models/transformer/attention_ops.h"
#include "models/transformer/linear_ops.h"
#include "models/transformer/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

namespace sluice {
namespace {

at::Tensor noise(at::IntArrayRef shape, uint64_t seed) {
  return Parameters::random_tensor({"", shape.vec(), ParameterInit::Normal, ""}, 1,
                                   RandomKey(seed));
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

using Tensors = std::vector<at::Tensor>;

/// f(inputs), and the gradients of a random sum of it.
Tensors with_gradients(const std::function<at::Tensor(const Tensors&)>& f, const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& x : inputs) leaves.push_back(x.clone().requires_grad_(true));
  const at::Tensor out = f(leaves);
  (out * noise(out.sizes(), 50)).sum().backward();
  Tensors all = {out.detach()};
  for (const at::Tensor& x : leaves) all.push_back(x.grad());
  return all;
}

void expect_close(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].defined() && b[i].defined()) << i;
    EXPECT_LE(difference(a[i], b[i]), 1e-5 * (1 + b[i].abs().max().item<double>())) << i;
  }
}

TEST(ExactLinearOp, ValuesAndGradientsArePlainOnes) {
  const Tensors inputs = {noise({3, 7, 40}, 1), noise({33, 40}, 2), noise({9, 40}, 3),
                          noise({33}, 4), noise({9}, 5)};
  for (const bool bias : {true, false}) {
    const auto with = [&](const LinearOp& op) {
      return with_gradients(
          [&](const Tensors& in) {
            const std::vector<Linear> layers = {{"a", in[1], bias ? in[3] : at::Tensor()},
                                                {"b", in[2], bias ? in[4] : at::Tensor()}};
            return op.apply_group(layers, in[0]);
          },
          bias ? inputs : Tensors(inputs.begin(), inputs.begin() + 3));
    };
    expect_close(with(ExactLinearOp()), with(PlainLinearOp()));
  }
}

TEST(ExactLinearOp, OnlyOneLayerOfAGroupHasABias) {
  const at::Tensor x = noise({2, 8}, 1);
  const std::vector<Linear> layers = {{"a", noise({3, 8}, 2), noise({3}, 3)},
                                      {"b", noise({4, 8}, 4), {}}};
  EXPECT_LE(
      difference(ExactLinearOp().apply_group(layers, x), PlainLinearOp().apply_group(layers, x)),
      1e-5);
}

TEST(ExactAttentionOp, ValuesAndGradientsArePlainOnes) {
  PackedBatch batch = pack({{1, 2, 3, 4, 5}, {6}, std::vector<int64_t>(300, 7)});
  const Tensors inputs = {noise({306, 4, 16}, 1), noise({306, 2, 16}, 2), noise({306, 2, 16}, 3)};
  for (const int64_t window : {0, 3}) {
    for (const double softcap : {0.0, 5.0}) {
      const AttentionSpec spec = {0, 4, 2, 16, 0.25, window, softcap};
      const auto with = [&](const AttentionOp& op) {
        return with_gradients(
            [&](const Tensors& in) { return op.apply(spec, in[0], in[1], in[2], batch, nullptr); },
            inputs);
      };
      expect_close(with(ExactAttentionOp()), with(PlainAttentionOp()));
    }
  }
}

TransformerConfig small() {
  TransformerConfig c;
  c.family = "llama";
  c.vocab_size = 101;
  c.hidden_size = 48;
  c.intermediate_size = 100;
  c.heads = 6;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.max_positions = 512;
  c.layers.resize(2);
  c.attention_scale = 0.35;
  c.tied_head = true;
  c.initializer_range = 0.3;
  return c;
}

std::vector<int64_t> tokens(int64_t n, uint64_t seed) {
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < static_cast<uint64_t>(n); ++i) {
    ids.push_back(static_cast<int64_t>(RandomKey(seed).word(i) % 101));
  }
  return ids;
}

TEST(ExactOps, AModelsLogitsDoNotDependOnTheBatch) {
  const at::NoGradGuard no_grad;
  const TransformerConfig config = small();
  const Parameters weights = Parameters::random(config, RandomKey(1));
  Transformer model(config, weights, std::make_shared<ExactLinearOp>(),
                    std::make_shared<ExactAttentionOp>());
  const auto run = [&](const std::vector<std::vector<int64_t>>& sequences) {
    return model.logits(model.forward(pack(sequences)));
  };
  const auto a = tokens(290, 1);
  const auto b = tokens(3, 2);
  const at::Tensor both = run({b, a});
  EXPECT_TRUE(at::equal(run({a}), both.slice(0, 3)));
  EXPECT_TRUE(at::equal(run({b}), both.slice(0, 0, 3)));
  // A sequence's beginning does not see its end.
  const std::vector<int64_t> half(a.begin(), a.begin() + 100);
  EXPECT_TRUE(at::equal(run({half}), both.slice(0, 3, 103)));

  auto packed = PackedLinearOp::create(config, weights, WeightFormat::Fp32);
  ASSERT_TRUE(packed.ok());
  model.use(*packed);
  EXPECT_TRUE(at::equal(run({b, a}), both)) << "packed weights give other bits";
  EXPECT_TRUE(at::equal(run({half}), both.slice(0, 3, 103)));
  Transformer plain(config, weights);
  EXPECT_LE(difference(plain.logits(plain.forward(pack({b, a}))), both), 1e-3);
}

}  // namespace
}  // namespace sluice
