#include "models/transformer/golden_support.h"
#include "models/transformer/hf_config.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace sluice {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json parse_file(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

json llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", 64},
          {"hidden_size", 32},
          {"intermediate_size", 48},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"max_position_embeddings", 128},
          {"rope_theta", 10000.0}};
}

std::string complaint(const json& config) {
  const auto read = read_hf_config(config);
  return read.ok() ? "" : read.status().message();
}

TEST(HfConfig, EveryArchitectureSurvivesBeingWrittenAndRead) {
  for (const std::string& name : golden::models()) {
    const auto read = read_hf_config(parse_file(golden::folder(name) + "/config.json"));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().message();
    const auto again = read_hf_config(write_hf_config(*read));
    ASSERT_TRUE(again.ok()) << name << ": " << again.status().message();
    EXPECT_TRUE(*again == *read) << name << ": " << write_hf_config(*read).dump();
  }
}

TEST(HfConfig, EndTokensAreOneOrAList) {
  json config = llama();
  config["eos_token_id"] = {7, 9};
  config["bos_token_id"] = 3;
  auto read = read_hf_config(config);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(read->eos_tokens, testing::ElementsAre(7, 9));
  EXPECT_EQ(write_hf_config(*read)["eos_token_id"], json({7, 9}));
  EXPECT_EQ(write_hf_config(*read)["bos_token_id"], 3);
  EXPECT_TRUE(write_hf_config(*read)["pad_token_id"].is_null());
  config["eos_token_id"] = 7;
  read = read_hf_config(config);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(write_hf_config(*read)["eos_token_id"], 7);
}

TEST(HfConfig, BothFormsOfRopeAreTheSame) {
  json older = llama();
  older["rope_scaling"] = {{"type", "yarn"},
                           {"factor", 4.0},
                           {"original_max_position_embeddings", 32},
                           {"beta_fast", 16.0}};
  json newer = llama();
  newer.erase("rope_theta");
  newer["rope_parameters"] = {{"rope_type", "yarn"},
                              {"rope_theta", 10000.0},
                              {"factor", 4.0},
                              {"original_max_position_embeddings", 32},
                              {"beta_fast", 16.0}};
  const auto a = read_hf_config(older);
  const auto b = read_hf_config(newer);
  ASSERT_TRUE(a.ok()) << a.status().message();
  ASSERT_TRUE(b.ok()) << b.status().message();
  EXPECT_TRUE(a->rope == b->rope);
  EXPECT_EQ(a->rope.type, RopeType::Yarn);
  EXPECT_EQ(a->rope.beta_fast, 16);
}

TEST(HfConfig, RopeScalingStandsForAllOfRopeParameters) {
  json config = llama();
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500.0}};
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  const auto read = read_hf_config(config);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->rope.type, RopeType::Linear);
  EXPECT_EQ(read->rope.theta, 10000);
  config["rope_scaling"]["rope_type"] = "longrope";
  EXPECT_THAT(complaint(config), HasSubstr("unknown rope_type 'longrope'"));
}

// config_defaults.json has what `transformers` makes of configs that name their sizes only.
TEST(HfConfig, AbsentKeysMeanWhatTheyMeanToTransformers) {
  const json table = parse_file(golden::folder("config_defaults.json"));
  ASSERT_GE(table.size(), architectures().size());
  for (const json& row : table) {
    auto brief = read_hf_config(row["brief"]);
    auto full = read_hf_config(row["full"]);
    ASSERT_TRUE(brief.ok()) << brief.status().message() << row["brief"];
    ASSERT_TRUE(full.ok()) << full.status().message() << row["full"];
    // Absent ids are none to us: the defaults of a class are not those of its models.
    for (TransformerConfig* c : {&*brief, &*full}) {
      c->bos_token = c->pad_token = -1;
      c->eos_tokens.clear();
    }
    EXPECT_TRUE(*brief == *full) << write_hf_config(*brief) << "\n" << write_hf_config(*full);
  }
}

TEST(HfConfig, AnAbsentWindowOfMistralIsNotANullOne) {
  json config = llama();
  config["architectures"] = {"MistralForCausalLM"};
  config["num_key_value_heads"] = 2;
  EXPECT_EQ(read_hf_config(config)->layers.front().window, 4096);
  config["sliding_window"] = nullptr;
  EXPECT_EQ(read_hf_config(config)->layers.front().window, 0);
  EXPECT_TRUE(write_hf_config(*read_hf_config(config))["sliding_window"].is_null());
}

TEST(HfConfig, SizesThatNoModelHasAreRefused) {
  const std::vector<std::pair<const char*, json>> bad = {{"hidden_size", int64_t{1} << 30},
                                                         {"vocab_size", int64_t{1} << 30},
                                                         {"intermediate_size", int64_t{1} << 40},
                                                         {"head_dim", 1 << 24}};
  for (const auto& [key, value] : bad) {
    json config = llama();
    config[key] = value;
    EXPECT_THAT(complaint(config), HasSubstr(key));
  }
  json heads = llama();
  heads["num_attention_heads"] = heads["head_dim"] = 1 << 16;
  EXPECT_THAT(complaint(heads), HasSubstr("num_attention_heads x head_dim is 4294967296"));
  json labels = llama();
  labels["architectures"] = {"LlamaForSequenceClassification"};
  labels["num_labels"] = 1 << 30;
  EXPECT_THAT(complaint(labels), HasSubstr("num_labels"));
  // Each by itself is possible, all of them are names for hours.
  json experts = llama();
  experts["architectures"] = {"Qwen3MoeForCausalLM"};
  experts["num_hidden_layers"] = 1 << 14;
  experts["num_experts"] = 1 << 16;
  experts["num_experts_per_tok"] = 2;
  experts["moe_intermediate_size"] = 8;
  EXPECT_THAT(complaint(experts), HasSubstr("num_experts of all layers"));
  json gpt2 = {{"architectures", {"GPT2LMHeadModel"}},
               {"vocab_size", 64},
               {"n_embd", int64_t{1} << 62},
               {"n_head", 2},
               {"n_layer", 1}};
  EXPECT_THAT(complaint(gpt2), HasSubstr("hidden_size is 4611686018427387904"));
}

TEST(HfConfig, WhatMutationsFoundSurvivesBeingWritten) {
  json next = parse_file(golden::folder("qwen3_next/config.json"));
  next["rope_parameters"]["partial_rotary_factor"] = 1.0;  // not the family's quarter
  json dynamic = parse_file(golden::folder("rope_dynamic/config.json"));
  dynamic["rope_parameters"]["original_max_position_embeddings"] = 8;
  json ids = llama();
  ids["pad_token_id"] = -7;
  ids["eos_token_id"] = {-1, 5};
  for (const json& config : {next, dynamic, ids}) {
    const auto read = read_hf_config(config);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(*read == *read_hf_config(write_hf_config(*read))) << write_hf_config(*read);
  }
  json gemma = parse_file(golden::folder("gemma2/config.json"));
  gemma["query_pre_attn_scalar"] = 1e300;
  EXPECT_THAT(complaint(gemma), HasSubstr("query_pre_attn_scalar"));
  gemma["query_pre_attn_scalar"] = 12;
  gemma["attn_logit_softcapping"] = -1;
  EXPECT_THAT(complaint(gemma), HasSubstr("softcap"));
}

TEST(HfConfig, ContextIsStretchedByScaledRope) {
  json config = llama();
  const auto context = [&] { return context_length(*read_hf_config(config)); };
  EXPECT_EQ(context(), 128);
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(context(), 256);
  config["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 128}};
  EXPECT_EQ(context(), 512);
  config["max_position_embeddings"] = 512;  // as other models write it
  EXPECT_EQ(context(), 512);
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  EXPECT_EQ(context(), 512);
}

TEST(HfConfig, UnknownRopeTypeNamesTheKnownOnes) {
  json config = llama();
  config["rope_scaling"] = {{"rope_type", "longrope"}, {"factor", 4.0}};
  EXPECT_EQ(complaint(config),
            "config.json: unknown rope_type 'longrope' (known: default, linear, dynamic, llama3, "
            "yarn)");
}

TEST(HfConfig, UnknownArchitectureNamesTheKnownOnes) {
  json config = llama();
  config["architectures"] = {"MambaForCausalLM"};
  EXPECT_THAT(complaint(config), HasSubstr("unknown architecture 'MambaForCausalLM' (known: "
                                           "LlamaForCausalLM, MistralForCausalLM"));
}

TEST(HfConfig, ComplaintsNameTheKey) {
  const std::vector<std::pair<const char*, json>> bad = {{"hidden_size", "large"},
                                                         {"num_attention_heads", nullptr},
                                                         {"num_hidden_layers", 1 << 20},
                                                         {"hidden_act", "mish"},
                                                         {"tie_word_embeddings", 1},
                                                         {"num_key_value_heads", 3},
                                                         {"vocab_size", -1},
                                                         {"rope_scaling", 7},
                                                         {"partial_rotary_factor", 1e300},
                                                         {"partial_rotary_factor", -0.5},
                                                         {"rope_theta", 0}};
  for (const auto& [key, value] : bad) {
    json config = llama();
    config[key] = value;
    EXPECT_THAT(complaint(config), HasSubstr(key)) << value.dump();
  }
  EXPECT_THAT(complaint(json::array()), HasSubstr("not an object"));
}

TEST(HfConfig, FewNumbersDoNotAskForEndlessExperts) {
  json config = parse_file(golden::folder("qwen3_moe/config.json"));
  config["num_hidden_layers"] = 1 << 14;
  config["num_experts"] = 1 << 16;
  EXPECT_THAT(complaint(config), HasSubstr("num_experts of all layers"));
}

TEST(Rope, FrequenciesEqualTransformers) {
  const json table = parse_file(golden::folder("rope.json"));
  ASSERT_GE(table.size(), 9U);
  for (const json& row : table) {
    json config = {{"rope_parameters", row["rope_parameters"]}};
    HfConfig hf(config);
    const auto max_positions = row["max_positions"].get<int64_t>();
    const RopeConfig rope = hf.rope(1e4, max_positions);
    ASSERT_TRUE(hf.status().ok()) << hf.status().message();
    const auto got = rope_inv_freq(rope, row["head_dim"].get<int64_t>(), max_positions,
                                   row["length"].get<int64_t>());
    const auto want = row["inv_freq"].get<std::vector<double>>();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-6 * want[i]) << row["rope_parameters"] << " at " << i;
    }
    EXPECT_NEAR(rope_attention_factor(rope), row["attention_factor"].get<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace sluice
