#include "models/transformer/lora/merged_lora.h"

#include "models/transformer/lora/lora_op.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {
using testing::HasSubstr;

class PlainOp final : public LinearOp {
 public:
  at::Tensor apply(const Linear& layer, const at::Tensor& x) const override {
    return at::linear(x, layer.weight, layer.bias);
  }
};

/// Two layers whose weights lie in one allocation, as a model's q and k do, and a head.
std::vector<LoraLayer> grouped(at::ScalarType dtype) {
  at::manual_seed(3);
  const at::Tensor both = at::randn({9, 7}).to(dtype);
  return {{{"q", both.narrow(0, 0, 5), {}}},
          {{"k", both.narrow(0, 5, 4), {}}},
          {{"head", at::randn({6, 7}).to(dtype), at::randn({6}).to(dtype)}, true}};
}

LoraSet adapters(const std::vector<LoraLayer>& layers, bool save_head = false) {
  LoraConfig config;
  config.rank = 2;
  config.alpha = 3;
  config.targets.names = {"q", "k"};
  if (save_head) config.modules_to_save = {"head"};
  auto lora = LoraSet::create(config, layers, RandomKey(9));
  EXPECT_TRUE(lora.ok()) << lora.status().to_string();
  for (const auto& [name, adapter] : lora->adapters()) adapter.b.normal_();
  for (const auto& [name, linear] : lora->saved()) linear.weight.add_(1);
  return *lora;
}

std::vector<at::Tensor> weights(const std::vector<LoraLayer>& layers) {
  std::vector<at::Tensor> out;
  for (const LoraLayer& layer : layers) out.push_back(layer.linear.weight.clone());
  return out;
}

TEST(MergedLora, GivesWhatTheAdaptersGiveAndGoesBackBitForBit) {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto layers = grouped(dtype);
    const auto before = weights(layers);
    const LoraSet lora = adapters(layers, true);
    auto merged = MergedLora::merge(lora, layers);
    ASSERT_TRUE(merged.ok()) << merged.status().to_string();
    for (const LoraLayer& layer : layers) {
      const LoraAdapter* adapter = lora.find(layer.linear.name);
      const size_t i = static_cast<size_t>(&layer - layers.data());
      EXPECT_FALSE(at::equal(layer.linear.weight, before[i]));
      if (adapter == nullptr) continue;
      const at::Tensor want =
          (before[i].to(at::kDouble) +
           adapter->scale * adapter->b.to(at::kDouble).mm(adapter->a.to(at::kDouble)))
              .to(dtype);
      const double ulp = dtype == at::kDouble ? 1e-6 : dtype == at::kFloat ? 1e-6 : 1e-2;
      EXPECT_TRUE(at::allclose(layer.linear.weight, want, ulp, ulp));
    }
    EXPECT_TRUE(at::equal(layers[2].linear.weight, before[2].to(at::kFloat).add(1).to(dtype)));
    ASSERT_TRUE(merged->unmerge().ok());
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_TRUE(at::equal(layers[i].linear.weight, before[i])) << i;
    }
  }
}

TEST(MergedLora, ForwardEqualsThatOfTheAdapters) {
  const auto layers = grouped(at::kDouble);
  const LoraSet lora = adapters(layers);
  const PlainOp plain;
  const at::Tensor x = at::randn({4, 7}, at::kDouble);
  const at::Tensor want = LoraOp(plain, lora).apply(layers[0].linear, x);
  ASSERT_TRUE(MergedLora::merge(lora, layers).ok());
  EXPECT_TRUE(at::allclose(plain.apply(layers[0].linear, x), want, 1e-5, 1e-6));
}

TEST(MergedLora, WorksOnLeavesThatWantGradients) {
  auto layers = grouped(at::kFloat);
  const at::Tensor leaf = layers[0].linear.weight.clone().requires_grad_();
  layers[0].linear.weight = leaf;
  auto merged = MergedLora::merge(adapters(layers), layers);
  ASSERT_TRUE(merged.ok());
  EXPECT_TRUE(leaf.requires_grad() && leaf.is_leaf());
  EXPECT_TRUE(merged->unmerge().ok());
}

TEST(MergedLora, RefusesToUndoWhatSomebodyElseChanged) {
  const auto layers = grouped(at::kFloat);
  auto merged = MergedLora::merge(adapters(layers), layers);
  ASSERT_TRUE(merged.ok());
  at::Tensor(layers[1].linear.weight).add_(1);
  const at::Tensor now = layers[1].linear.weight.clone();
  EXPECT_EQ(merged->unmerge().code(), Code::FailedPrecondition);
  EXPECT_TRUE(at::equal(layers[1].linear.weight, now));
}

TEST(MergedLora, RefusesBeforeItChangesAnything) {
  const auto layers = grouped(at::kFloat);
  const auto before = weights(layers);
  const LoraSet lora = adapters(layers);
  auto without = layers;
  without.erase(without.begin());
  EXPECT_THAT(MergedLora::merge(lora, without).status().message(), HasSubstr("'q' to merge into"));
  auto other = layers;
  other[1].linear.weight = at::zeros({4, 8});
  EXPECT_THAT(MergedLora::merge(lora, other).status().message(),
              HasSubstr("A [2, 7], B [4, 2] does not fit the weight [4, 8] of 'k'"));
  lora.find("q")->a.fill_(NAN);
  EXPECT_THAT(MergedLora::merge(lora, layers).status().message(), HasSubstr("'q' is not finite"));
  for (size_t i = 0; i < layers.size(); ++i) {
    EXPECT_TRUE(at::equal(layers[i].linear.weight, before[i]));
  }
}

}  // namespace
}  // namespace sluice
