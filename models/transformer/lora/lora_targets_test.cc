#include "models/transformer/lora/lora_targets.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

/// Two layers of q_proj, v_proj and up_proj, and a head.
std::vector<LoraLayer> model(bool tied = false) {
  std::vector<LoraLayer> out;
  for (const std::string layer : {"0", "1"}) {
    for (const std::string name : {"self_attn.q_proj", "self_attn.v_proj", "mlp.up_proj"}) {
      out.push_back({{"model.layers." + layer + "." + name, at::zeros({4, 6}), {}}});
    }
  }
  out.push_back({{"lm_head", at::zeros({9, 6}), {}}, true, tied});
  return out;
}

/// "0.q_proj" for every adapter that a config asks for, in order.
std::vector<std::string> picked(const LoraConfig& config) {
  const std::vector<LoraLayer> layers = model();
  const auto targets = select_targets(config, layers, NamesMust::AllExist);
  EXPECT_TRUE(targets.ok()) << targets.status().to_string();
  std::vector<std::string> out;
  if (!targets.ok()) return out;
  for (const LoraTarget& target : targets->adapters) {
    const std::string& name = layers[target.layer].linear.name;
    out.push_back(name.substr(13, 1) + name.substr(name.rfind('.')));
  }
  return out;
}

LoraConfig names(std::vector<std::string> list) {
  LoraConfig config;
  config.targets.names = std::move(list);
  return config;
}
LoraConfig pattern(std::string text) {
  LoraConfig config;
  config.targets.pattern = std::move(text);
  return config;
}
std::string refusal(const LoraConfig& config, Code code, bool tied = false) {
  const auto targets = select_targets(config, model(tied), NamesMust::AllExist);
  EXPECT_EQ(targets.status().code(), code) << targets.status().to_string();
  return targets.status().message();
}

TEST(LoraTargets, NamesMatchEndsAtADot) {
  EXPECT_THAT(picked(names({"q_proj"})), ElementsAre("0.q_proj", "1.q_proj"));
  EXPECT_THAT(picked(names({"self_attn.v_proj"})), ElementsAre("0.v_proj", "1.v_proj"));
  EXPECT_THAT(picked(names({"model.layers.1.mlp.up_proj"})), ElementsAre("1.up_proj"));
  EXPECT_THAT(refusal(names({"proj"}), Code::NotFound), HasSubstr("no linear layer 'proj'"));
}

TEST(LoraTargets, PatternsMatchWholeNames) {
  EXPECT_THAT(picked(pattern(".*\\.0\\..*(q|up)_proj")), ElementsAre("0.q_proj", "0.up_proj"));
  EXPECT_THAT(refusal(pattern("q_proj"), Code::NotFound), HasSubstr("what matches 'q_proj'"));
}

TEST(LoraTargets, AllLinearLeavesTheHeadOut) {
  EXPECT_EQ(picked(pattern(LoraConfig::kAllLinear)).size(), 6U);
}

TEST(LoraTargets, ExcludedModulesAndOtherLayersAreLeftOut) {
  LoraConfig config = pattern(LoraConfig::kAllLinear);
  config.excluded.names = {"mlp.up_proj", "model.layers.0.self_attn.q_proj"};
  EXPECT_THAT(picked(config), ElementsAre("0.v_proj", "1.q_proj", "1.v_proj"));
  config = names({"q_proj", "model.layers.1.self_attn.v_proj"});
  config.layers = {0};
  // A name given in full is taken whatever its layer, as in PEFT.
  EXPECT_THAT(picked(config), ElementsAre("0.q_proj", "1.v_proj"));
}

TEST(LoraTargets, RankAndAlphaFollowTheFirstPatternThatFits) {
  LoraConfig config = pattern(LoraConfig::kAllLinear);
  config.rank = 2;
  config.alpha = 6;
  config.rank_pattern = {{"0.self_attn.q_proj", 3}, {"up_.*", 1}};
  config.alpha_pattern = {{"model.layers.1.mlp.up_proj", 5}};
  const auto targets = select_targets(config, model(), NamesMust::AllExist);
  ASSERT_TRUE(targets.ok());
  std::vector<int64_t> ranks;
  std::vector<double> scales;
  for (const LoraTarget& t : targets->adapters) {
    ranks.push_back(t.rank);
    scales.push_back(t.scale);
  }
  EXPECT_THAT(ranks, ElementsAre(3, 2, 1, 2, 2, 1));
  EXPECT_THAT(scales, ElementsAre(2, 3, 6, 3, 3, 5));
}

TEST(LoraTargets, UnknownNamesAreToldTheNearest) {
  EXPECT_THAT(refusal(names({"q_porj"}), Code::NotFound), HasSubstr("did you mean 'q_proj'"));
  EXPECT_THAT(refusal(names({"q_proj", "c_attn"}), Code::NotFound),
              HasSubstr("'c_attn'; it has lm_head, q_proj, up_proj, v_proj"));
  LoraConfig config = names({"q_proj"});
  config.modules_to_save = {"lm_haed"};
  EXPECT_THAT(refusal(config, Code::NotFound),
              HasSubstr("modules_to_save: the model has no linear layer 'lm_haed', did you"));
}

TEST(LoraTargets, FilesMayNameModulesOfOtherModels) {
  LoraConfig config = names({"q_proj", "c_attn"});
  config.modules_to_save = {"classifier", "score"};  // what PEFT adds for any classifier
  const auto targets = select_targets(config, model(), NamesMust::SomeExist);
  ASSERT_TRUE(targets.ok());
  EXPECT_EQ(targets->adapters.size(), 2U);
  EXPECT_EQ(select_targets(names({"c_attn"}), model(), NamesMust::SomeExist).status().code(),
            Code::NotFound);
}

TEST(LoraTargets, TheHeadTakesNoAdapterButCanBeSavedWhole) {
  EXPECT_THAT(refusal(names({"lm_head"}), Code::Unimplemented), HasSubstr("'lm_head'"));
  LoraConfig config = names({"q_proj"});
  config.modules_to_save = {"lm_head"};
  const auto targets = select_targets(config, model(), NamesMust::AllExist);
  ASSERT_TRUE(targets.ok());
  EXPECT_THAT(targets->saved, ElementsAre(6U));
  EXPECT_THAT(refusal(config, Code::Unimplemented, true), HasSubstr("tied to the embedding"));
}

TEST(LoraTargets, APatternThatBacktracksForeverIsStopped) {
  std::vector<LoraLayer> layers = {{{std::string(60, 'a') + "!", at::zeros({2, 2}), {}}}};
  const auto targets = select_targets(pattern("(a|aa)+[bc]"), layers, NamesMust::AllExist);
  EXPECT_EQ(targets.status().code(), Code::ResourceExhausted) << targets.status().to_string();
}

}  // namespace
}  // namespace sluice
