#include "models/io/checkpoint.h"

#include "dataflow/base/files.h"
#include "models/io/atomic_file.h"
#include "models/io/end_tokens.h"
#include "models/io/gguf_model.h"
#include "models/io/gguf_writer.h"
#include "models/io/hf_writer.h"
#include "models/io/json_text.h"
#include "models/io/model_cache.h"
#include "models/io/safetensors_writer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

namespace sluice {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string testdata(const std::string& name) {
  return std::string(SLUICE_SOURCE_DIR) + "/models/io/testdata/" + name;
}

class Checkpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() /
               fmt::format("sluice-cp-{}-{}", ::getpid(),
                           ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  static std::unique_ptr<Checkpoint> open(const std::string& path) {
    auto opened = Checkpoint::open(path);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  static std::string refusal(const std::string& path) {
    auto opened = Checkpoint::open(path);
    return opened.ok() ? "accepted" : opened.status().message();
  }
  static void expect_same_tensors(const Checkpoint& a, const Checkpoint& b) {
    EXPECT_EQ(a.tensors().size(), b.tensors().size());
    for (const auto& tensor : a.tensors()) {
      const auto left = a.read(tensor.name, at::kFloat);
      const auto right = b.read(tensor.name, at::kFloat);
      ASSERT_TRUE(left.ok()) << left.status().message();
      ASSERT_TRUE(right.ok()) << right.status().message();
      EXPECT_TRUE(left->equal(*right)) << tensor.name;
    }
  }

  std::string folder_;
};

TEST_F(Checkpoints, AGgufFileLooksLikeTheFolderItWasMadeFrom) {
  const auto folder = open(testdata("tiny_llama"));
  const auto gguf = open(testdata("tiny_llama.gguf"));
  ASSERT_TRUE(folder && gguf);
  expect_same_tensors(*folder, *gguf);
  for (const char* key :
       {"architectures", "model_type", "hidden_size", "intermediate_size", "num_hidden_layers",
        "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size", "rms_norm_eps",
        "max_position_embeddings", "tie_word_embeddings", "hidden_act", "attention_bias",
        "mlp_bias", "bos_token_id", "eos_token_id", "pad_token_id"}) {
    EXPECT_EQ(folder->config().at(key), gguf->config().at(key)) << key;
  }
  EXPECT_EQ(gguf->config().at("rope_theta"), 10000.0);
  EXPECT_EQ(gguf->generation_config().at("eos_token_id"), 2);
  const json mine = *gguf->tokenizer_json();
  const json theirs = *folder->tokenizer_json();
  EXPECT_EQ(mine.at("model").at("vocab"), theirs.at("model").at("vocab"));
  EXPECT_EQ(mine.at("pre_tokenizer").at("pretokenizers").at(0),
            theirs.at("pre_tokenizer").at("pretokenizers").at(0));
  EXPECT_EQ(mine.at("added_tokens"), theirs.at("added_tokens"));
  EXPECT_EQ(gguf->tokenizer_config()->at("chat_template"),
            folder->tokenizer_config()->at("chat_template"));
  EXPECT_EQ(gguf->tokenizer_config()->at("eos_token"), "<|im_end|>");
}

TEST_F(Checkpoints, SurviveTheWayThroughEveryFormat) {
  const auto first = open(testdata("tiny_llama"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(convert_to_gguf(*first, path("a.gguf"), StoredType::BF16).ok());
  const auto gguf = open(path("a.gguf"));
  ASSERT_TRUE(gguf);
  expect_same_tensors(*first, *gguf);
  const Status written = convert_to_hf(*gguf, path("b"), std::nullopt, 20000);
  ASSERT_TRUE(written.ok()) << written.message();
  EXPECT_TRUE(fs::exists(path("b/model.safetensors.index.json")));
  const auto second = open(path("b"));
  ASSERT_TRUE(second);
  expect_same_tensors(*first, *second);
  EXPECT_EQ(second->find("model.embed_tokens.weight")->type, StoredType::BF16);
  EXPECT_EQ(second->tokenizer_json()->at("model").at("vocab"),
            first->tokenizer_json()->at("model").at("vocab"));
  EXPECT_EQ(second->tokenizer_config()->at("chat_template"),
            first->tokenizer_config()->at("chat_template"));
  EXPECT_EQ(second->config().at("num_key_value_heads"), 2);
}

TEST_F(Checkpoints, Q8IsCloseAndSmall) {
  const auto first = open(testdata("tiny_llama"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(convert_to_gguf(*first, path("a.gguf"), StoredType::Q8_0).ok());
  const auto gguf = open(path("a.gguf"));
  ASSERT_TRUE(gguf);
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ(gguf->find(name)->type, StoredType::Q8_0);
  EXPECT_EQ(gguf->find("model.norm.weight")->type, StoredType::F32);
  const at::Tensor wanted = *first->read(name, at::kFloat);
  const at::Tensor found = *gguf->read(name, at::kFloat);
  EXPECT_LT((wanted - found).abs().max().item<float>(), wanted.abs().max().item<float>() / 127);
  EXPECT_TRUE(gguf->read(name, at::kBFloat16)->equal(found.to(at::kBFloat16)));
}

TEST_F(Checkpoints, ATargetThatExistsIsNotTouched) {
  const auto model = open(testdata("tiny_llama"));
  ASSERT_TRUE(model);
  fs::create_directories(path("b"));
  std::ofstream(path("b/mine")) << "x";
  const Status status = convert_to_hf(*model, path("b"), std::nullopt);
  EXPECT_EQ(status.code(), Code::AlreadyExists);
  EXPECT_EQ(*read_file(path("b/mine")), "x");
}

TEST_F(Checkpoints, AGgufFileThatExistsIsNotReplaced) {
  const auto model = open(testdata("tiny_llama"));
  ASSERT_TRUE(model);
  std::ofstream(path("a.gguf")) << "mine";
  EXPECT_EQ(convert_to_gguf(*model, path("a.gguf"), StoredType::F32).code(), Code::AlreadyExists);
  EXPECT_EQ(*read_file(path("a.gguf")), "mine");
  // One that comes while the other is written stays too.
  auto late = AtomicFile::create(path("late"), /*fresh=*/true);
  ASSERT_TRUE(late.ok());
  EXPECT_TRUE(late->write("ours").ok());
  std::ofstream(path("late")) << "theirs";
  EXPECT_EQ(late->commit().code(), Code::AlreadyExists);
  EXPECT_EQ(*read_file(path("late")), "theirs");
}

TEST_F(Checkpoints, LeftoversOfAKilledProcessOfTheSameIdAreNotUsed) {
  const auto model = open(testdata("tiny_llama"));
  ASSERT_TRUE(model);
  // As a process with our id would have left them, as in a container that starts over.
  for (int i = 0; i < 200; ++i) {
    const std::string left = fmt::format("{}.tmp-{}-{}", path("out"), ::getpid(), i);
    fs::create_directories(left);
    std::ofstream(left + "/model.safetensors") << "half";
    std::ofstream(fmt::format("{}.tmp-{}-{}", path("x.gguf"), ::getpid(), i)) << "half";
  }
  const Status folder = convert_to_hf(*model, path("out"), std::nullopt, 4096);  // in shards
  EXPECT_TRUE(folder.ok()) << folder.message();
  EXPECT_FALSE(fs::exists(path("out/model.safetensors"))) << "somebody else's file got in";
  const Status file = convert_to_gguf(*model, path("x.gguf"), StoredType::F32);
  EXPECT_TRUE(file.ok()) << file.message();
}

TEST_F(Checkpoints, CopiesOutliveTheirFile) {
  const auto model = open(testdata("tiny_llama"));
  ASSERT_TRUE(model);
  ASSERT_TRUE(convert_to_hf(*model, path("hf"), at::kFloat).ok());
  ASSERT_TRUE(convert_to_gguf(*model, path("x.gguf"), StoredType::F32).ok());
  for (const auto& [name, file] : {std::pair(path("hf"), path("hf/model.safetensors")),
                                   std::pair(path("x.gguf"), path("x.gguf"))}) {
    const auto written = open(name);
    ASSERT_TRUE(written);
    const std::string tensor = "model.embed_tokens.weight";
    const at::Tensor wanted = model->read(tensor, at::kFloat)->clone();
    const auto copy = written->read_copy(tensor, at::kFloat);
    ASSERT_TRUE(copy.ok()) << copy.status().message();
    fs::resize_file(file, 8);
    EXPECT_TRUE(copy->equal(wanted));  // a view would end the process here
    EXPECT_EQ(written->read_copy(tensor, at::kFloat).status().code(), Code::DataLoss);
  }
}

TEST_F(Checkpoints, NamedPipesAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path("x.gguf").c_str(), 0600), 0);
  EXPECT_THAT(refusal(path("x.gguf")), HasSubstr("not a regular file"));
}

TEST_F(Checkpoints, WhatAGgufFileCannotSayIsRefused) {
  const auto said = [&](const json& change) {
    const std::string folder = path("changed");
    fs::remove_all(folder);
    fs::copy(testdata("tiny_llama"), folder);
    json config = *read_json(folder + "/config.json");
    config.update(change);
    std::ofstream(folder + "/config.json") << config.dump();
    const auto model = open(folder);
    const std::string target = path("changed.gguf");
    fs::remove(target);
    const Status status = convert_to_gguf(*model, target, StoredType::F32);
    return status.ok() ? "accepted" : status.message();
  };
  EXPECT_EQ(said(json::object()), "accepted");
  EXPECT_THAT(said({{"hidden_act", "gelu"}}),
              HasSubstr("'hidden_act' is \"gelu\", which has no place in a GGUF file"));
  EXPECT_THAT(
      said({{"rope_parameters",
             {{"rope_type", "yarn"}, {"rope_theta", 1e4}, {"factor", 2.0}, {"beta_fast", 16.0}}}}),
      HasSubstr("'beta_fast' 16.0"));
  EXPECT_THAT(said({{"model_type", "qwen2"}, {"use_sliding_window", true}}),
              HasSubstr("use_sliding_window"));
}

TEST_F(Checkpoints, TokenizersThatAGgufFileWouldChangeAreRefused) {
  const auto said = [&](const std::function<void(json&)>& change) {
    const std::string folder = path("changed");
    fs::remove_all(folder);
    fs::copy(testdata("tiny_llama"), folder);
    json tokenizer = *read_json(folder + "/tokenizer.json");
    change(tokenizer);
    std::ofstream(folder + "/tokenizer.json") << tokenizer.dump();
    const std::string target = path("changed.gguf");
    fs::remove(target);
    const Status status = convert_to_gguf(*open(folder), target, StoredType::F32);
    return status.ok() ? "accepted" : status.message();
  };
  EXPECT_EQ(said([](json&) {}), "accepted");
  EXPECT_EQ(said([](json& t) {
              t["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
            }),
            "accepted");
  EXPECT_THAT(said([](json& t) {
                t["normalizer"] = {{"type", "Lowercase"}};
              }),
              HasSubstr("normalizer \"Lowercase\" has no place in a GGUF file"));
  EXPECT_THAT(said([](json& t) { t["normalizer"] = {{"type", "Foo"}}; }), HasSubstr("\"Foo\""));
  EXPECT_THAT(said([](json& t) { t["model"]["vocab"]["zz"] = 5; }), HasSubstr("id 5"));
  EXPECT_THAT(said([](json& t) {
                t["model"]["merges"].push_back({"qqq", "rrr"});
              }),
              HasSubstr("\"qqq\" is not in the vocabulary"));
}

TEST_F(Checkpoints, QuantisedWeightsAreNotConverted) {
  const std::string folder = path("fp8");
  fs::copy(testdata("tiny_llama"), folder);
  json config = *read_json(folder + "/config.json");
  config["quantization_config"] = {{"quant_method", "fp8"}};
  std::ofstream(folder + "/config.json") << config.dump();
  const auto model = open(folder);
  ASSERT_TRUE(model);
  EXPECT_THAT(convert_to_hf(*model, path("f32"), at::kFloat).message(),
              HasSubstr("quantization_config \"fp8\""));
  EXPECT_FALSE(convert_to_gguf(*model, path("x.gguf"), StoredType::F32).ok());
  ASSERT_TRUE(convert_to_hf(*model, path("same"), std::nullopt).ok());
  EXPECT_TRUE(open(path("same"))->config().contains("quantization_config"));
}

TEST_F(Checkpoints, ExpertsOfEitherNameGetIntoAGgufFile) {
  for (const char* key : {"num_experts", "num_local_experts"}) {
    const std::string folder = path(key);
    fs::create_directory(folder);
    json config = *read_json(testdata("tiny_llama/config.json"));
    config.update({{"architectures", {"Qwen3MoeForCausalLM"}},
                   {"model_type", "qwen3_moe"},
                   {key, 1},
                   {"num_experts_per_tok", 1},
                   {"moe_intermediate_size", 32},
                   {"norm_topk_prob", true}});
    std::ofstream(folder + "/config.json") << config.dump();
    const std::vector<std::pair<std::string, at::Tensor>> tensors = {
        {"model.embed_tokens.weight", at::zeros({277, 32})},
        {"model.layers.0.mlp.experts.0.up_proj.weight", at::ones({32, 32})}};
    ASSERT_TRUE(write_safetensors(folder + "/model.safetensors", tensors).ok());
    const Status written = convert_to_gguf(*open(folder), folder + ".gguf", StoredType::F32);
    ASSERT_TRUE(written.ok()) << written.message();
    EXPECT_EQ(open(folder + ".gguf")->config()["num_experts"], 1) << key;
  }
}

TEST_F(Checkpoints, AWindowOfMistralComesBackFromAGgufFile) {
  const std::string folder = path("mistral");
  fs::copy(testdata("tiny_llama"), folder);
  json config = *read_json(folder + "/config.json");
  config["architectures"] = {"MistralForCausalLM"};
  config["model_type"] = "mistral";
  config.erase("attention_bias");
  config.erase("mlp_bias");
  config["sliding_window"] = 16;
  std::ofstream(folder + "/config.json") << config.dump();
  ASSERT_TRUE(convert_to_gguf(*open(folder), path("a.gguf"), StoredType::F32).ok());
  EXPECT_EQ(open(path("a.gguf"))->config()["model_type"], "mistral");
  EXPECT_EQ(open(path("a.gguf"))->config()["sliding_window"], 16);
  config["sliding_window"] = nullptr;
  std::ofstream(folder + "/config.json") << config.dump();
  ASSERT_TRUE(convert_to_gguf(*open(folder), path("b.gguf"), StoredType::F32).ok());
  EXPECT_EQ(open(path("b.gguf"))->config()["model_type"], "llama");
}

TEST_F(Checkpoints, AllEndsOfATurnComeBackFromAGgufFile) {
  const std::string folder = path("ends");
  fs::copy(testdata("tiny_llama"), folder);
  std::ofstream(folder + "/generation_config.json") << R"({"eos_token_id": [2, 7, 9]})";
  ASSERT_TRUE(convert_to_gguf(*open(folder), path("a.gguf"), StoredType::F32).ok());
  EXPECT_EQ(open(path("a.gguf"))->generation_config()["eos_token_id"], json({2, 7, 9}));
}

TEST_F(Checkpoints, SayWhatIsMissingOrWrong) {
  EXPECT_THAT(refusal(path("nothing")), HasSubstr("no model at"));
  EXPECT_THAT(refusal(folder_), HasSubstr("config.json"));
  std::ofstream(path("config.json")) << "{}";
  EXPECT_THAT(refusal(folder_), HasSubstr("neither model.safetensors nor"));
  std::ofstream(path("pytorch_model.bin")) << "";
  EXPECT_THAT(refusal(folder_), HasSubstr("pytorch_model.bin is not read"));
  std::ofstream(path("config.json")) << R"({"a": 1, "a": 2})";
  EXPECT_THAT(refusal(folder_), HasSubstr("config.json: duplicate key 'a'"));
  std::ofstream(path("config.json")) << "[1]";
  EXPECT_THAT(refusal(folder_), HasSubstr("not a JSON object"));
  std::ofstream(path("x.bin")) << "x";
  EXPECT_THAT(refusal(path("x.bin")), HasSubstr("neither a folder"));
  std::ofstream(path("x.gguf")) << "GGUX";
  EXPECT_THAT(refusal(path("x.gguf")), HasSubstr("x.gguf: "));
  const auto model = open(testdata("tiny_llama"));
  ASSERT_TRUE(model);
  EXPECT_THAT(model->read("model.norm.wieght", at::kFloat).status().message(),
              HasSubstr("did you mean 'model.norm.weight'"));
}

/// A GGUF header with some metadata and an embedding of 4 rows.
GgufHeader header_with(const GgufMetadata& metadata) {
  GgufHeader out;
  for (const auto& [key, value] : metadata) out.metadata[key] = value;
  out.tensors.push_back({"token_embd.weight", StoredType::F32, {4, 8}, 0, 128});
  return out;
}

GgufMetadata llama_metadata() {
  using internal::gguf_f32;
  using internal::gguf_u32;
  return {{"general.architecture", internal::gguf_string("llama")},
          {"llama.block_count", gguf_u32(2)},
          {"llama.context_length", gguf_u32(64)},
          {"llama.embedding_length", gguf_u32(8)},
          {"llama.feed_forward_length", gguf_u32(16)},
          {"llama.attention.head_count", gguf_u32(2)},
          {"llama.attention.layer_norm_rms_epsilon", gguf_f32(1e-5F)}};
}

TEST(GgufConfig, ReadsRopeScaling) {
  auto metadata = llama_metadata();
  metadata.emplace_back("llama.rope.scaling.type", internal::gguf_string("linear"));
  metadata.emplace_back("llama.rope.scaling.factor", internal::gguf_f32(4));
  const auto config = gguf_config(header_with(metadata), {});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->at("rope_scaling"), (json{{"rope_type", "linear"}, {"factor", 4.0}}));
  EXPECT_EQ(config->at("rms_norm_eps"), 1e-5);
  metadata[7].second = internal::gguf_string("longrope");
  EXPECT_THAT(gguf_config(header_with(metadata), {}).status().message(),
              HasSubstr("'longrope'; known are none, linear, yarn"));
}

TEST(GgufConfig, RecognisesLlama3sFactors) {
  auto metadata = llama_metadata();
  metadata.emplace_back("llama.rope.freq_base", internal::gguf_f32(500000));
  metadata.emplace_back("llama.attention.key_length", internal::gguf_u32(64));
  const json wanted{{"rope_theta", 500000.0},
                    {"head_dim", 64},
                    {"hidden_size", 8},
                    {"num_attention_heads", 2},
                    {"rope_scaling",
                     {{"rope_type", "llama3"},
                      {"factor", 32.0},
                      {"low_freq_factor", 1.0},
                      {"high_freq_factor", 4.0},
                      {"original_max_position_embeddings", 8192}}}};
  auto factors = internal::llama3_rope_factors(wanted);
  ASSERT_EQ(factors.size(), 32U);
  EXPECT_EQ(factors.front(), 1.0F);
  EXPECT_EQ(factors.back(), 32.0F);
  const auto config = gguf_config(header_with(metadata), factors);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->at("rope_scaling"), wanted.at("rope_scaling"));
  factors[3] = 2;
  EXPECT_THAT(gguf_config(header_with(metadata), factors).status().message(),
              HasSubstr("rope_freqs.weight[3]"));
}

TEST(GgufConfig, NamesWhatItDoesNotKnow) {
  auto metadata = llama_metadata();
  metadata[0].second = internal::gguf_string("mamba");
  EXPECT_THAT(gguf_config(header_with(metadata), {}).status().message(),
              HasSubstr("architecture 'mamba' is unknown; known are llama, qwen2"));
  metadata = llama_metadata();
  metadata[2].second = internal::gguf_string("long");
  EXPECT_THAT(gguf_config(header_with(metadata), {}).status().message(),
              HasSubstr("metadata 'llama.context_length' is string, not a whole number"));
  metadata.erase(metadata.begin() + 3);
  EXPECT_THAT(gguf_config(header_with(metadata), {}).status().message(),
              HasSubstr("'llama.embedding_length' is missing"));
  auto header = header_with(llama_metadata());
  header.tensors.push_back({"blk.0.what.weight", StoredType::F32, {4}, 0, 16});
  EXPECT_THAT(gguf_sources(header, json::object()).status().message(),
              HasSubstr("'blk.0.what.weight' is unknown in architecture 'llama'"));
}

GgufValue array_of(GgufType element, std::vector<std::string> strings, std::vector<int64_t> ints,
                   std::vector<double> floats) {
  GgufArray out;
  out.element = element;
  out.strings = std::move(strings);
  out.ints = std::move(ints);
  out.floats = std::move(floats);
  return {GgufType::Array, std::move(out)};
}

TEST(GgufTokenizer, SentencePieceScoresBecomeMerges) {
  const auto header = header_with(
      {{"tokenizer.ggml.model", internal::gguf_string("llama")},
       {"tokenizer.ggml.tokens",
        array_of(GgufType::String, {"<unk>", "<s>", "<0x0A>", "a", "b", "ab", "abb"}, {}, {})},
       {"tokenizer.ggml.token_type", array_of(GgufType::I32, {}, {2, 3, 6, 1, 1, 1, 1}, {})},
       {"tokenizer.ggml.scores", array_of(GgufType::F32, {}, {}, {0, 0, 0, -9, -8, -2, -1})},
       {"tokenizer.ggml.bos_token_id", internal::gguf_u32(1)}});
  const auto tokenizer = gguf_tokenizer(header);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->at("model").at("merges"),
            json::array({json::array({"ab", "b"}), json::array({"a", "b"})}));
  EXPECT_EQ(tokenizer->at("model").at("unk_token"), "<unk>");
  EXPECT_EQ(tokenizer->at("model").at("byte_fallback"), true);
  EXPECT_EQ(tokenizer->at("post_processor").at("single").at(0).at("SpecialToken").at("id"), "<s>");
  EXPECT_EQ(tokenizer->at("added_tokens").size(), 2U);
}

TEST(GgufTokenizer, PiecesThatMakeEndlessMergesAreRefused) {
  // All parts of one text: each can be cut everywhere.
  std::string text;
  for (uint32_t i = 0; i < 100; ++i) text += static_cast<char>('a' + i * i * i % 23);
  std::set<std::string> parts;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    for (size_t size = 1; size <= text.size() - begin; ++size) {
      parts.insert(text.substr(begin, size));
    }
  }
  std::vector<std::string> words(parts.begin(), parts.end());
  const size_t count = words.size();
  const auto header =
      header_with({{"tokenizer.ggml.model", internal::gguf_string("llama")},
                   {"tokenizer.ggml.tokens", array_of(GgufType::String, std::move(words), {}, {})},
                   {"tokenizer.ggml.scores",
                    array_of(GgufType::F32, {}, {}, std::vector<double>(count, 0.0))}});
  EXPECT_THAT(gguf_tokenizer(header).status().message(), HasSubstr("make more than"));
}

TEST(GgufTokenizer, PreTokenizersKeepTheirDigits) {
  const auto with = [](const std::string& pre) {
    return gguf_tokenizer(
        header_with({{"tokenizer.ggml.model", internal::gguf_string("gpt2")},
                     {"tokenizer.ggml.pre", internal::gguf_string(pre)},
                     {"tokenizer.ggml.tokens", array_of(GgufType::String, {"a", "b"}, {}, {})},
                     {"tokenizer.ggml.merges", array_of(GgufType::String, {}, {}, {})}}));
  };
  EXPECT_EQ(with("smollm")->at("pre_tokenizer").at("pretokenizers").at(0),
            (json{{"type", "Digits"}, {"individual_digits", true}}));
  EXPECT_EQ(with("gpt-2")->at("pre_tokenizer").at("type"), "ByteLevel");
  EXPECT_EQ(with("qwen2")->at("normalizer").at("type"), "NFC");
  EXPECT_EQ(with("llama-bpe")->at("model").at("ignore_merges"), true);
  EXPECT_THAT(with("viking").status().message(), HasSubstr("'viking'; known are gpt-2"));
}

TEST(GgufTokenizer, ListsThatDisagreeAreRefused) {
  const auto with = [](GgufValue tokens, GgufValue types, GgufValue merges) {
    const auto out =
        gguf_tokenizer(header_with({{"tokenizer.ggml.model", internal::gguf_string("gpt2")},
                                    {"tokenizer.ggml.tokens", std::move(tokens)},
                                    {"tokenizer.ggml.token_type", std::move(types)},
                                    {"tokenizer.ggml.merges", std::move(merges)}}));
    return out.ok() ? "accepted" : out.status().message();
  };
  const auto strings = [](std::vector<std::string> values) {
    return array_of(GgufType::String, std::move(values), {}, {});
  };
  const auto types = [](std::vector<int64_t> values) {
    return array_of(GgufType::I32, {}, std::move(values), {});
  };
  EXPECT_EQ(with(strings({"a", "b"}), types({1, 1}), strings({"a b"})), "accepted");
  EXPECT_THAT(with(strings({"a", "a"}), types({1, 1}), strings({})), HasSubstr("both 0 and 1"));
  EXPECT_THAT(with(strings({"a"}), types({1, 1}), strings({})), HasSubstr("2 values for 1 tokens"));
  EXPECT_THAT(with(strings({"a"}), types({9}), strings({})), HasSubstr("holds 9"));
  EXPECT_THAT(with(strings({"\xff"}), types({1}), strings({})), HasSubstr("[0] is not UTF-8"));
  EXPECT_THAT(with(strings({"a"}), types({1}), strings({"a b c"})),
              HasSubstr("merges[0] is not two parts"));
  EXPECT_THAT(with(types({1}), types({1}), strings({})), HasSubstr("not an array of string"));
}

TEST_F(Checkpoints, FetchedModelsAreFoundByName) {
  ::setenv("SLUICE_CACHE", path("cache").c_str(), 1);
  EXPECT_THAT(resolve_model("smollm2").status().message(), HasSubstr("sluice fetch smollm2"));
  EXPECT_THAT(resolve_model("smolm2").status().message(), HasSubstr("did you mean 'smollm2'"));
  EXPECT_FALSE(fetch_model("smollm2", path("nothing.gguf")).ok());
  EXPECT_THAT(fetch_model("smollm2", path("x.txt")).status().message(),
              HasSubstr("neither a .gguf nor a .whl"));
  const auto fetched = fetch_model("smollm2", testdata("tiny_llama.gguf"));
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  EXPECT_EQ(*fetched, path("cache") + "/models/smollm2");
  EXPECT_EQ(*resolve_model("smollm2"), *fetched);
  const auto before = fs::last_write_time(*fetched + "/model.safetensors");
  EXPECT_EQ(*fetch_model("smollm2", testdata("tiny_llama.gguf")), *fetched);
  EXPECT_EQ(fs::last_write_time(*fetched + "/model.safetensors"), before);
  size_t entries = 0;
  for (const auto& item : fs::directory_iterator(path("cache") + "/models")) {
    entries += item.exists() ? 1 : 0;
  }
  EXPECT_EQ(entries, 1U) << "something else stayed in the cache";
  EXPECT_EQ(open(*fetched)->find("model.norm.weight")->type, StoredType::BF16);
  ::unsetenv("SLUICE_CACHE");
}

TEST(EndTokens, ComeFromTheGenerationConfigOrElseTheConfig) {
  const auto folder = Checkpoint::open(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  EXPECT_EQ(end_tokens_of(**folder), std::vector<int64_t>{2});
  const auto gguf = Checkpoint::open(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama.gguf");
  ASSERT_TRUE(gguf.ok()) << gguf.status().message();
  EXPECT_EQ(end_tokens_of(**gguf), std::vector<int64_t>{2});
}

}  // namespace
}  // namespace sluice
