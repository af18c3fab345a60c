#include "models/transformer/golden_support.h"
#include "models/transformer/linear_ops.h"
#include "models/transformer/lora/lora_op.h"
#include "models/transformer/lora/merged_lora.h"
#include "models/transformer/lora/model_layers.h"
#include "models/transformer/lora/peft.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace sluice {
namespace {
using testing::HasSubstr;
const std::string kData = SLUICE_SOURCE_DIR "/models/transformer/lora/testdata/";

at::Tensor golden_logits(const std::string& name) {
  std::ifstream file(kData + name + "/golden.json");
  const auto rows = nlohmann::json::parse(file)["logits"];
  std::vector<float> flat;
  for (const auto& row : rows) {
    for (const auto& x : row) flat.push_back(x.get<float>());
  }
  return at::tensor(flat).view({static_cast<int64_t>(rows.size()), -1});
}

TEST(ModelLora, AdaptersOfPeftGiveItsLogitsBesideAndMerged) {
  for (const char* name : {"llama", "qwen2"}) {
    SCOPED_TRACE(name);
    auto loaded = golden::load(name);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    Transformer& model = loaded->model;
    const auto logits = [&] { return model.logits(model.forward(loaded->batch)); };
    const at::Tensor before = logits();
    const std::vector<LoraLayer> layers = lora_layers(model);
    const auto lora = read_peft(kData + name, layers);
    ASSERT_TRUE(lora.ok()) << lora.status().to_string();
    const at::Tensor want = golden_logits(name);
    EXPECT_FALSE(at::allclose(before, want, 1e-2, 1e-2));
    const PlainLinearOp plain;
    model.use(std::make_shared<LoraOp>(plain, *lora));
    EXPECT_TRUE(at::allclose(logits(), want, 1e-4, 1e-4));
    model.use(std::make_shared<PlainLinearOp>());
    auto merged = MergedLora::merge(*lora, layers);
    ASSERT_TRUE(merged.ok()) << merged.status().to_string();
    EXPECT_TRUE(at::allclose(logits(), want, 1e-4, 1e-4));
    ASSERT_TRUE(merged->unmerge().ok());
    EXPECT_TRUE(at::equal(logits(), before));
  }
}

TEST(ModelLora, GradientsReachEveryAdapterOfGroupedLayers) {
  auto loaded = golden::load("llama");
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  Transformer& model = loaded->model;
  LoraConfig config;
  config.rank = 2;
  config.targets.pattern = LoraConfig::kAllLinear;
  auto lora = LoraSet::create(config, lora_layers(model), RandomKey(4));
  ASSERT_TRUE(lora.ok()) << lora.status().to_string();
  EXPECT_EQ(lora->adapters().size(), 14U);  // two layers of q, k, v, o, gate, up and down
  for (const auto& [layer, adapter] : lora->adapters()) adapter.b.normal_(0, 0.1);
  lora->requires_grad(true);
  const PlainLinearOp plain;
  model.use(std::make_shared<LoraOp>(plain, *lora));
  model.logits(model.forward(loaded->batch)).square().sum().backward();
  for (const LoraSet::Parameter& p : lora->parameters()) {
    ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
    EXPECT_GT(p.tensor.grad().abs().max().item<double>(), 0) << p.name;
  }
}

TEST(ModelLora, RefusesTheHeadOfATiedModelAndNamesTheNearestModule) {
  auto loaded = golden::load("gemma2");
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  const std::vector<LoraLayer> layers = lora_layers(loaded->model);
  LoraConfig config;
  config.targets.names = {"lm_head"};
  EXPECT_THAT(LoraSet::create(config, layers, RandomKey(4)).status().message(),
              HasSubstr("an adapter on the head 'lm_head' is not supported"));
  config.targets.names = {"q_prj"};
  EXPECT_THAT(LoraSet::create(config, layers, RandomKey(4)).status().message(),
              HasSubstr("did you mean 'q_proj'"));
}

}  // namespace
}  // namespace sluice
