#include "models/transformer/lora/lora.h"

#include "models/transformer/lora/lora_op.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {
using testing::HasSubstr;

class PlainOp final : public LinearOp {
 public:
  at::Tensor apply(const Linear& layer, const at::Tensor& x) const override {
    return at::linear(x, layer.weight, layer.bias);
  }
};

std::vector<LoraLayer> two_layers(at::ScalarType dtype = at::kDouble) {
  at::manual_seed(5);
  return {{{"a.q_proj", at::randn({5, 7}, dtype), at::randn({5}, dtype)}},
          {{"b.q_proj", at::randn({4, 7}, dtype), {}}},
          {{"head", at::randn({9, 7}, dtype), {}}, true}};
}

LoraConfig config() {
  LoraConfig out;
  out.rank = 3;
  out.alpha = 6;
  out.targets.names = {"q_proj"};
  return out;
}

LoraSet filled(const std::vector<LoraLayer>& layers, const LoraConfig& with = config()) {
  auto lora = LoraSet::create(with, layers, RandomKey(1), at::kDouble);
  EXPECT_TRUE(lora.ok()) << lora.status().to_string();
  for (const auto& [name, adapter] : lora->adapters()) adapter.b.normal_();
  return *lora;
}

TEST(Lora, NewAdaptersChangeNothingAndAreDrawnByName) {
  const auto layers = two_layers();
  const auto lora = LoraSet::create(config(), layers, RandomKey(1));
  ASSERT_TRUE(lora.ok());
  const LoraAdapter& first = *lora->find("a.q_proj");
  EXPECT_EQ(first.b.abs().max().item<double>(), 0);
  const double bound = 1 / std::sqrt(7.);
  EXPECT_LE(first.a.abs().max().item<double>(), bound);
  EXPECT_GE(first.a.max().item<double>(), bound / 2);
  EXPECT_LE(first.a.min().item<double>(), -bound / 2);
  EXPECT_FALSE(at::equal(first.a, lora->find("b.q_proj")->a));
  LoraConfig one = config();
  one.targets.names = {"a.q_proj"};
  const auto again = LoraSet::create(one, layers, RandomKey(1));
  EXPECT_TRUE(at::equal(again->find("a.q_proj")->a, first.a));
  const at::Tensor x = at::randn({3, 7}, at::kDouble);
  const PlainOp plain;
  EXPECT_TRUE(
      at::equal(LoraOp(plain, *lora).apply(layers[0].linear, x), plain.apply(layers[0].linear, x)));
}

TEST(Lora, AddsScaledProductWithGradients) {
  const auto layers = two_layers();
  LoraSet lora = filled(layers);
  lora.requires_grad(true);
  const LoraAdapter& adapter = *lora.find("a.q_proj");
  const at::Tensor x = at::randn({2, 3, 7}, at::kDouble).requires_grad_();
  const PlainOp plain;
  const at::Tensor y = LoraOp(plain, lora).apply(layers[0].linear, x);
  const at::Tensor g = at::randn({2, 3, 5}, at::kDouble);
  y.backward(g);
  const at::Tensor a = adapter.a.detach(), b = adapter.b.detach();
  const at::Tensor weight = layers[0].linear.weight + 2 * b.mm(a);
  EXPECT_TRUE(at::allclose(y, at::linear(x, weight, layers[0].linear.bias), 1e-12, 1e-12));
  const at::Tensor rows = x.detach().view({6, 7}), up = g.view({6, 5});
  EXPECT_TRUE(at::allclose(x.grad().view({6, 7}), up.mm(weight), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(adapter.b.grad(), 2 * up.t().mm(rows.mm(a.t())), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(adapter.a.grad(), 2 * up.mm(b).t().mm(rows), 1e-12, 1e-12));
  EXPECT_FALSE(layers[0].linear.weight.requires_grad());
}

TEST(Lora, LeavesOtherLayersAlone) {
  const auto layers = two_layers();
  const LoraSet lora = filled(layers);
  const PlainOp plain;
  const at::Tensor x = at::randn({3, 7}, at::kDouble);
  EXPECT_TRUE(
      at::equal(LoraOp(plain, lora).apply(layers[2].linear, x), plain.apply(layers[2].linear, x)));
}

TEST(Lora, KeepsTheDtypeOfTheActivations) {
  const auto layers = two_layers(at::kBFloat16);
  const auto lora = LoraSet::create(config(), layers, RandomKey(1));
  ASSERT_TRUE(lora.ok());
  EXPECT_EQ(lora->find("a.q_proj")->a.scalar_type(), at::kFloat);
  const PlainOp plain;
  const at::Tensor y =
      LoraOp(plain, *lora).apply(layers[0].linear, at::randn({3, 7}, at::kBFloat16));
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
}

TEST(Lora, SavedModulesReplaceTheirLayer) {
  const auto layers = two_layers();
  LoraConfig with = config();
  with.modules_to_save = {"head"};
  LoraSet lora = filled(layers, with);
  ASSERT_EQ(lora.saved().size(), 1U);
  const Linear& head = lora.resolve(layers[2].linear);
  EXPECT_TRUE(at::equal(head.weight, layers[2].linear.weight));
  EXPECT_NE(head.weight.data_ptr(), layers[2].linear.weight.data_ptr());
  at::Tensor(head.weight).zero_();
  const PlainOp plain;
  const at::Tensor y = LoraOp(plain, lora).apply(layers[2].linear, at::randn({3, 7}, at::kDouble));
  EXPECT_EQ(y.abs().max().item<double>(), 0);
}

TEST(Lora, ParametersComeBackUnderTheirNames) {
  const auto layers = two_layers();
  LoraConfig with = config();
  with.modules_to_save = {"head"};
  const LoraSet lora = filled(layers, with);
  const LoraSet::Parameters stored = lora.parameters();
  ASSERT_EQ(stored.size(), 5U);
  EXPECT_EQ(stored[0].name, "base_model.model.a.q_proj.lora_A.weight");
  EXPECT_EQ(stored[4].name, "base_model.model.head.weight");
  const auto again = LoraSet::from_tensors(with, layers, stored, at::kDouble);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  const LoraSet::Parameters copies = again->parameters();
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(copies[i].name, stored[i].name);
    EXPECT_TRUE(at::equal(copies[i].tensor, stored[i].tensor));
  }
}

TEST(Lora, RefusesFilesThatDoNotFit) {
  const auto layers = two_layers();
  const LoraSet::Parameters good = filled(layers).parameters();
  const auto refusal = [&](const LoraSet::Parameters& stored) {
    return LoraSet::from_tensors(config(), layers, stored).status().message();
  };
  LoraSet::Parameters bad = good;
  bad.erase(bad.begin() + 1);
  EXPECT_THAT(refusal(bad),
              HasSubstr("no tensor 'base_model.model.a.q_proj.lora_B.weight' [5, 3]"));
  bad = good;
  bad[0].tensor = at::zeros({3, 8});
  EXPECT_THAT(refusal(bad),
              HasSubstr("lora_A.weight' is [3, 8], the model and config need [3, 7]"));
  bad = good;
  bad.push_back({"base_model.model.c.q_proj.lora_A.weight", at::zeros({3, 7})});
  EXPECT_THAT(refusal(bad), HasSubstr("'base_model.model.c.q_proj.lora_A.weight' belongs to no"));
  bad = good;
  bad[0].tensor = at::zeros({3, 7}, at::kInt);
  EXPECT_THAT(refusal(bad), HasSubstr("not floating point"));
}

TEST(Lora, RefusesTwoLayersOfOneName) {
  auto layers = two_layers();
  layers[1].linear.name = layers[0].linear.name;
  EXPECT_EQ(LoraSet::create(config(), layers, RandomKey(1)).status().code(), Code::AlreadyExists);
}

}  // namespace
}  // namespace sluice
