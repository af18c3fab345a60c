#include "inference/kernels/packed_linear_op.h"

#include "models/transformer/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

TransformerConfig small(bool tied, bool biases) {
  TransformerConfig c;
  c.family = biases ? "qwen2" : "llama";
  c.vocab_size = 101;
  c.hidden_size = 48;
  c.intermediate_size = 100;
  c.heads = 6;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.max_positions = 128;
  c.layers.resize(2);
  c.attention_scale = 0.35;
  c.tied_head = tied;
  c.qkv_bias = biases;
  c.initializer_range = 0.3;
  return c;
}

std::shared_ptr<PackedLinearOp> packed(const TransformerConfig& config, const Parameters& weights,
                                       WeightFormat format) {
  auto op = PackedLinearOp::create(config, weights, format);
  EXPECT_TRUE(op.ok()) << op.status().to_string();
  return *op;
}

Parameters weights_of(const TransformerConfig& config, uint64_t seed) {
  Parameters weights = Parameters::random(config, RandomKey(seed));
  // Biases begin as zeros, which would hide that they are forgotten.
  for (const Parameters::Entry& entry : weights.entries()) {
    if (entry.name.ends_with(".bias")) {
      entry.tensor.copy_(Parameters::random_tensor(
          {"", entry.tensor.sizes().vec(), ParameterInit::Normal, ""}, 1, RandomKey(seed + 1)));
    }
  }
  return weights;
}

at::Tensor logits(const Transformer& model) {
  const at::NoGradGuard no_grad;
  return model.logits(model.forward(pack({{1, 5, 7, 100, 3}, {9, 2}})));
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

TEST(PackedLinearOp, AModelGivesThePlainLogitsUpToTheFormat) {
  for (const bool tied : {false, true}) {
    for (const bool biases : {false, true}) {
      const TransformerConfig config = small(tied, biases);
      const Parameters weights = weights_of(config, 1);
      Transformer model(config, weights);
      const at::Tensor plain = logits(model);
      model.use(packed(config, weights, WeightFormat::Fp32));
      EXPECT_LE(difference(logits(model), plain), 1e-5);
      model.use(packed(config, weights, WeightFormat::Bf16));
      EXPECT_LE(difference(logits(model), plain), 0.05);
      model.use(packed(config, weights, WeightFormat::Int8));
      EXPECT_LE(difference(logits(model), plain), 0.1);
    }
  }
}

TEST(PackedLinearOp, ALayerOfAGroupIsFoundAlone) {
  const TransformerConfig config = small(true, true);
  const Parameters weights = weights_of(config, 1);
  const auto op = packed(config, weights, WeightFormat::Bf16);
  const std::string at = "model.layers.1.self_attn.";
  std::vector<Linear> qkv;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) qkv.push_back({at + name, {}, {}});
  const at::Tensor x =
      Parameters::random_tensor({"", {2, 3, 48}, ParameterInit::Normal, ""}, 1, RandomKey(3));
  const at::Tensor together = op->apply_group(qkv, x);
  ASSERT_EQ(together.sizes(), at::IntArrayRef({2, 3, 48 + 16 + 16}));
  EXPECT_TRUE(at::equal(op->apply(qkv[1], x), together.slice(-1, 48, 64)));
  const std::vector<Linear> some = {qkv[2], qkv[0]};
  EXPECT_TRUE(at::equal(op->apply_group(some, x),
                        at::cat({together.slice(-1, 64, 80), together.slice(-1, 0, 48)}, -1)));
}

TEST(PackedLinearOp, ReturnsTheTypeOfItsInput) {
  const TransformerConfig config = small(true, false);
  const auto op = packed(config, weights_of(config, 1), WeightFormat::Bf16);
  const at::Tensor x = at::ones({2, 48}, at::kBFloat16);
  const at::Tensor y = op->apply({"lm_head", {}, {}}, x);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_EQ(y.sizes(), at::IntArrayRef({2, 101}));
}

TEST(PackedLinearOp, FlipsToStagedWeightsAndBack) {
  const TransformerConfig config = small(true, true);
  const Parameters first = weights_of(config, 1);
  const Parameters second = weights_of(config, 5);
  const auto op = packed(config, first, WeightFormat::Int8);
  const Linear head = {"lm_head", {}, {}};
  const Linear biased = {"model.layers.0.self_attn.k_proj", {}, {}};
  const at::Tensor x =
      Parameters::random_tensor({"", {3, 48}, ParameterInit::Normal, ""}, 1, RandomKey(3));
  const at::Tensor old_head = op->apply(head, x);
  const at::Tensor old_biased = op->apply(biased, x);
  EXPECT_FALSE(op->flip()) << "nothing was staged";

  ASSERT_TRUE(op->stage(second).ok());
  EXPECT_TRUE(op->staged());
  EXPECT_TRUE(at::equal(op->apply(head, x), old_head)) << "staging is not serving";
  EXPECT_TRUE(op->flip());
  const auto fresh = packed(config, second, WeightFormat::Int8);
  EXPECT_TRUE(at::equal(op->apply(head, x), fresh->apply(head, x)));
  EXPECT_TRUE(at::equal(op->apply(biased, x), fresh->apply(biased, x)));
  EXPECT_FALSE(op->flip()) << "one stage, one flip";

  op->drop_second();
  ASSERT_TRUE(op->stage(first).ok());
  EXPECT_TRUE(op->flip());
  EXPECT_TRUE(at::equal(op->apply(head, x), old_head));
  EXPECT_TRUE(at::equal(op->apply(biased, x), old_biased));
}

TEST(PackedLinearOp, WeightsThatDoNotFitAreRefusedAndTheOldOnesServe) {
  const TransformerConfig config = small(true, false);
  const auto op = packed(config, weights_of(config, 1), WeightFormat::Fp32);
  const Linear head = {"lm_head", {}, {}};
  const at::Tensor x = at::ones({1, 48});
  const at::Tensor before = op->apply(head, x);
  ASSERT_TRUE(op->stage(weights_of(config, 2)).ok());

  TransformerConfig other = config;
  other.intermediate_size = 96;
  const Status wrong = op->stage(weights_of(other, 3));
  EXPECT_EQ(wrong.code(), Code::InvalidArgument);
  EXPECT_THAT(wrong.message(),
              testing::AllOf(testing::HasSubstr("gate_proj.weight"), testing::HasSubstr("[96, 48]"),
                             testing::HasSubstr("[100, 48]")));
  EXPECT_FALSE(op->flip()) << "a failed stage leaves nothing to flip to";
  EXPECT_TRUE(at::equal(op->apply(head, x), before));

  other = config;
  other.layers.resize(1);
  EXPECT_THAT(op->stage(weights_of(other, 3)).message(),
              testing::HasSubstr("lack model.layers.1.self_attn.q_proj.weight"));
  EXPECT_FALSE(PackedLinearOp::create(config, weights_of(other, 3), WeightFormat::Fp32).ok());
}

TEST(PackedLinearOp, BytesFollowTheFormat) {
  const TransformerConfig config = small(true, false);
  const Parameters weights = weights_of(config, 1);
  const int64_t fp32 = packed(config, weights, WeightFormat::Fp32)->bytes();
  EXPECT_EQ(packed(config, weights, WeightFormat::Bf16)->bytes(), fp32 / 2);
  const int64_t int8 = packed(config, weights, WeightFormat::Int8)->bytes();
  EXPECT_GT(int8, fp32 / 4);
  EXPECT_LT(int8, fp32 / 3);
}

}  // namespace
}  // namespace sluice
