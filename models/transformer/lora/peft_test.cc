#include "models/transformer/lora/peft.h"

#include "dataflow/base/files.h"
#include "models/transformer/lora/lora_op.h"
#include "models/transformer/lora/merged_lora.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sluice {
namespace {
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kData = SLUICE_SOURCE_DIR "/models/transformer/lora/testdata";
constexpr const char* kCases[] = {"plain", "patterns", "saved"};

Json golden(const std::string& name) {
  std::ifstream file(kData + "/golden.json");
  return Json::parse(file).at(name);
}

at::Tensor tensor(const Json& json) {
  std::vector<float> flat;
  if (!json.at(0).is_array()) {
    for (const auto& x : json) flat.push_back(x.get<float>());
    return at::tensor(flat);
  }
  for (const auto& row : json) {
    for (const auto& x : row) flat.push_back(x.get<float>());
  }
  return at::tensor(flat).view({static_cast<int64_t>(json.size()), -1});
}

/// The model of make_lora_golden.py.
std::vector<LoraLayer> toy_layers(const Json& base) {
  std::vector<LoraLayer> out;
  for (const auto& [name, value] : base.items()) {
    if (!name.ends_with(".weight")) continue;
    const std::string module = name.substr(0, name.size() - 7);
    Linear linear{module, tensor(value), {}};
    if (base.contains(module + ".bias")) linear.bias = tensor(base[module + ".bias"]);
    out.push_back({linear, module == "lm_head"});
  }
  return out;
}

class PlainOp final : public LinearOp {
 public:
  at::Tensor apply(const Linear& layer, const at::Tensor& x) const override {
    return at::linear(x, layer.weight, layer.bias);
  }
};

at::Tensor toy_forward(const std::vector<LoraLayer>& layers, const LinearOp& op, at::Tensor x) {
  const auto linear = [&](const std::string& name, const at::Tensor& in) {
    for (const LoraLayer& layer : layers) {
      if (layer.linear.name == name) return op.apply(layer.linear, in);
    }
    ADD_FAILURE() << name;
    return in;
  };
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    x = x + linear(layer + "self_attn.o_proj", linear(layer + "self_attn.q_proj", x).tanh());
    x = x + linear(layer + "mlp.down_proj", linear(layer + "mlp.up_proj", x).tanh());
  }
  return linear("lm_head", x);
}

std::string scratch(const std::string& name) {
  const std::string folder = std::string(SLUICE_BINARY_DIR) + "/peft_test/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(Peft, FoldersOfPeftGiveItsOutputsAndGradients) {
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const Json g = golden(name);
    const auto layers = toy_layers(g["base"]);
    auto lora = read_peft(kData + "/" + name, layers);
    ASSERT_TRUE(lora.ok()) << lora.status().to_string();
    lora->requires_grad(true);
    const PlainOp plain;
    const at::Tensor y = toy_forward(layers, LoraOp(plain, *lora), tensor(g["x"]));
    EXPECT_TRUE(at::allclose(y, tensor(g["y"]), 1e-5, 1e-6));
    y.backward(tensor(g["gradient"]));
    const LoraSet::Parameters parameters = lora->parameters();
    EXPECT_EQ(parameters.size(), g["gradients"].size());
    for (const LoraSet::Parameter& p : parameters) {
      ASSERT_TRUE(g["gradients"].contains(p.name)) << p.name;
      const at::Tensor want = tensor(g["gradients"][p.name]);
      EXPECT_LE((p.tensor.grad() - want).abs().max().item<double>(),
                1e-5 * std::max(1.0, want.abs().max().item<double>()))
          << p.name;
    }
  }
}

TEST(Peft, MergedWeightsAreThoseOfPeft) {
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const Json g = golden(name);
    const auto layers = toy_layers(g["base"]);
    const auto lora = read_peft(kData + "/" + name, layers);
    ASSERT_TRUE(lora.ok()) << lora.status().to_string();
    ASSERT_TRUE(MergedLora::merge(*lora, layers).ok());
    for (const LoraLayer& layer : layers) {
      const at::Tensor want = tensor(g["merged"][layer.linear.name + ".weight"]);
      EXPECT_TRUE(at::allclose(layer.linear.weight, want, 1e-6, 1e-7)) << layer.linear.name;
    }
  }
}

TEST(Peft, WhatIsWrittenIsReadBack) {
  for (const char* name : kCases) {
    SCOPED_TRACE(name);
    const auto layers = toy_layers(golden(name)["base"]);
    const auto lora = read_peft(kData + "/" + name, layers);
    ASSERT_TRUE(lora.ok()) << lora.status().to_string();
    const std::string folder = scratch(name);
    ASSERT_TRUE(write_peft(folder, *lora).ok());
    const auto again = read_peft(folder, layers);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(again->config(), lora->config());
    const auto want = lora->parameters(), got = again->parameters();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].name, want[i].name);
      EXPECT_TRUE(at::equal(got[i].tensor, want[i].tensor));
    }
  }
}

TEST(Peft, PeftLoadsWhatIsWritten) {
  const char* python = std::getenv("SLUICE_ORACLE_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "SLUICE_ORACLE_PYTHON names no Python with peft";
  std::string command = std::string(python) + " " + kData + "/check_with_peft.py";
  for (const char* name : kCases) {
    const auto lora = read_peft(kData + "/" + name, toy_layers(golden(name)["base"]));
    ASSERT_TRUE(lora.ok()) << lora.status().to_string();
    const std::string folder = scratch(std::string(name) + "_oracle");
    ASSERT_TRUE(write_peft(folder, *lora).ok());
    command += " '" + folder + "' " + name;
  }
  const std::string log = scratch("log");
  FILE* pipe = popen((command + " 2>'" + log + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, n);
  ASSERT_EQ(pclose(pipe), 0) << *read_file(log);
  const Json outputs = Json::parse(text);
  for (size_t i = 0; i < std::size(kCases); ++i) {
    EXPECT_TRUE(at::allclose(tensor(outputs.at(i)), tensor(golden(kCases[i])["y"]), 1e-5, 1e-6))
        << kCases[i];
  }
}

TEST(Peft, ErrorsNameTheFileAndWhatIsWrong) {
  const auto layers = toy_layers(golden("plain")["base"]);
  EXPECT_EQ(read_peft(scratch("none"), layers).status().code(), Code::NotFound);
  const std::string folder = scratch("broken");
  std::filesystem::copy(kData + "/plain", folder, std::filesystem::copy_options::recursive);
  const auto refusal = [&](const Json& change) {
    Json config = Json::parse(*read_file(kData + "/plain/adapter_config.json"));
    config.update(change);
    EXPECT_TRUE(write_file_atomic(folder + "/adapter_config.json", config.dump()).ok());
    return read_peft(folder, layers).status().message();
  };
  EXPECT_EQ(refusal(Json::object()), "");
  EXPECT_THAT(refusal({{"r", 5}}),
              HasSubstr("lora_A.weight' is [4, 8], the model and config need [5, 8]"));
  EXPECT_THAT(refusal({{"r", 0}}), HasSubstr("adapter_config.json: r: a rank must be"));
  EXPECT_THAT(refusal({{"use_dora", true}}), HasSubstr("adapter_config.json: use_dora"));
  EXPECT_THAT(refusal({{"target_modules", {"q_proj"}}}),
              HasSubstr("down_proj.lora_A.weight' belongs to no layer"));
  EXPECT_THAT(refusal({{"target_modules", {"q_proj", "down_proj", "up_proj"}}}),
              HasSubstr("no tensor 'base_model.model.model.layers.0.mlp.up_proj.lora_A.weight'"));
  std::filesystem::resize_file(folder + "/adapter_model.safetensors", 100);
  EXPECT_THAT(refusal(Json::object()), HasSubstr("adapter_model.safetensors"));
}

}  // namespace
}  // namespace sluice
