#include "models/transformer/lora/lora_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace sluice {
namespace {
using testing::HasSubstr;
using Json = nlohmann::json;

std::string refusal(const Json& json, Code code) {
  const auto config = LoraConfig::from_json(json);
  EXPECT_EQ(config.status().code(), code) << config.status().to_string();
  return config.status().message();
}

TEST(LoraConfig, ScaleIsAlphaOverRankOrItsRoot) {
  LoraConfig config;
  EXPECT_EQ(config.scale(4, 8), 2);
  config.rslora = true;
  EXPECT_EQ(config.scale(4, 8), 4);
}

TEST(LoraConfig, DefaultsAreThoseOfPeft) {
  const auto config = LoraConfig::from_json({{"target_modules", {"q_proj"}}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->rank, 8);
  EXPECT_EQ(config->alpha, 8);
  EXPECT_FALSE(config->rslora);
}

TEST(LoraConfig, SurvivesItsOwnFile) {
  LoraConfig config;
  config.rank = 3;
  config.alpha = 6.5;
  config.rslora = true;
  config.dropout = 0.25;
  config.targets.names = {"q_proj", "v_proj"};
  config.excluded.pattern = ".*\\.0\\..*";
  config.layers = {1, 2};
  config.rank_pattern = {{"v_proj", 9}};
  config.alpha_pattern = {{"v_proj", 2}};
  config.modules_to_save = {"lm_head"};
  config.base_model = "some/model";
  const auto again = LoraConfig::from_json(config.to_json());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(*again, config);
  LoraConfig other;
  other.targets.pattern = LoraConfig::kAllLinear;
  other.task_type.clear();
  const auto second = LoraConfig::from_json(other.to_json());
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(*second, other);
}

TEST(LoraConfig, OneLayerMayStandWithoutAList) {
  const auto config =
      LoraConfig::from_json({{"target_modules", {"q_proj"}}, {"layers_to_transform", 4}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->layers, std::vector<int64_t>{4});
}

TEST(LoraConfig, RefusesValuesThatCannotBe) {
  const Json good = {{"target_modules", {"q_proj"}}};
  const auto with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return refusal(json, Code::InvalidArgument);
  };
  EXPECT_THAT(with("r", 0), HasSubstr("r: a rank must be 1 to"));
  EXPECT_THAT(with("r", 1.5), HasSubstr("r: must be a whole number"));
  EXPECT_THAT(with("r", 18446744073709551615U), HasSubstr("r: must be a whole number"));
  EXPECT_THAT(with("lora_alpha", "8"), HasSubstr("lora_alpha: must be a number, not string"));
  EXPECT_THAT(with("lora_dropout", 1), HasSubstr("lora_dropout"));
  EXPECT_THAT(with("target_modules", Json::array()), HasSubstr("target_modules: name modules"));
  EXPECT_THAT(with("target_modules", {1}), HasSubstr("a string or a list of strings"));
  EXPECT_THAT(with("target_modules", "q(_proj"), HasSubstr("target_modules: pattern 'q(_proj'"));
  EXPECT_THAT(with("rank_pattern", {{"q", 0}}), HasSubstr("rank_pattern.q: a rank"));
  EXPECT_THAT(with("alpha_pattern", {{"[", 1}}), HasSubstr("alpha_pattern: pattern '['"));
  EXPECT_THAT(refusal(Json::array(), Code::InvalidArgument), HasSubstr("must be an object"));
}

TEST(LoraConfig, NamesOptionsItDoesNotKnow) {
  Json json = {{"target_modules", {"q_proj"}}, {"lora_aplha", 16}};
  EXPECT_THAT(refusal(json, Code::InvalidArgument),
              HasSubstr("lora_aplha: no such option, did you mean 'lora_alpha'"));
}

TEST(LoraConfig, NamesOptionsThatWouldChangeResults) {
  const auto with = [&](const char* key, const Json& value) {
    return refusal({{"target_modules", {"q_proj"}}, {key, value}}, Code::Unimplemented);
  };
  EXPECT_THAT(with("use_dora", true), HasSubstr("use_dora"));
  EXPECT_THAT(with("lora_bias", true), HasSubstr("lora_bias"));
  EXPECT_THAT(with("layer_replication", {{0, 2}}), HasSubstr("layer_replication"));
  EXPECT_THAT(with("target_parameters", {"experts.gate_up_proj"}), HasSubstr("target_parameters"));
  EXPECT_THAT(with("bias", "all"), HasSubstr("bias: 'all'"));
  EXPECT_THAT(with("peft_type", "IA3"), HasSubstr("peft_type: 'IA3'"));
  EXPECT_THAT(with("init_lora_weights", "pissa"), HasSubstr("init_lora_weights: \"pissa\""));
}

}  // namespace
}  // namespace sluice
