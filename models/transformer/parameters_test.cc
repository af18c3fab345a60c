#include "models/transformer/parameters.h"

#include "models/transformer/golden_support.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using testing::HasSubstr;

struct Stored {
  TransformerConfig config;
  golden::Tensors tensors;
};

Stored stored(const std::string& name) {
  Stored s;
  const auto loaded = golden::load(name, &s.config);
  SLUICE_CHECK(loaded.ok()) << loaded.status().message();
  auto tensors = golden::read_file(golden::folder(name) + "/model.safetensors");
  SLUICE_CHECK(tensors.ok());
  s.tensors = *std::move(tensors);
  return s;
}

std::string complaint(const Stored& s) {
  const auto loaded = load_parameters(s.config, golden::reader(s.tensors));
  return loaded.ok() ? "" : loaded.status().message();
}

TEST(Parameters, WrongShapeNamesBothShapes) {
  Stored s = stored("llama");
  s.tensors["model.layers.1.mlp.up_proj.weight"] = at::zeros({20, 25});
  EXPECT_EQ(complaint(s),
            "tensor 'model.layers.1.mlp.up_proj.weight' is [20, 25] in the checkpoint, the config "
            "implies [20, 24]");
}

TEST(Parameters, MissingTensorIsNamedWithItsShape) {
  Stored s = stored("gpt2");
  s.tensors.erase("transformer.h.1.attn.c_attn.weight");
  EXPECT_EQ(complaint(s),
            "tensor 'transformer.h.1.attn.c_attn.weight' [24, 72] is missing in the checkpoint");
}

TEST(Parameters, UnexpectedTensorIsNamed) {
  Stored s = stored("llama");
  s.tensors["model.layers.2.mlp.up_proj.weight"] = at::zeros({20, 24});
  EXPECT_THAT(complaint(s), HasSubstr("'model.layers.2.mlp.up_proj.weight' [20, 24] in the "
                                      "checkpoint belongs to no parameter of LlamaForCausalLM"));
}

TEST(Parameters, AConfigThatLiesAboutItsSizesAllocatesNothing) {
  Stored s = stored("llama");
  s.config.hidden_size = 1 << 24;
  s.config.vocab_size = 1 << 28;  // 18 petabytes
  EXPECT_THAT(complaint(s), HasSubstr("the config implies [268435456, 16777216]"));
  // The first tensor fits, and a later one would not.
  s = stored("llama");
  s.config.intermediate_size = 1 << 24;
  s.config.layers.resize(1 << 14, s.config.layers.front());
  bool read = false;
  TensorReader reader = golden::reader(s.tensors);
  reader.read = [&](const std::string&) -> Result<at::Tensor> {
    read = true;
    return at::Tensor();
  };
  EXPECT_FALSE(load_parameters(s.config, reader).ok());
  EXPECT_FALSE(read) << "a tensor was read before all shapes were compared";
}

TEST(Parameters, HarmlessExtrasArePassedOver) {
  Stored s = stored("gpt2");
  s.tensors["transformer.h.0.attn.bias"] = at::zeros({1, 1, 32, 32});
  s.tensors["lm_head.weight"] = at::zeros({64, 24});  // tied: the embedding stands
  EXPECT_EQ(complaint(s), "");
}

TEST(Parameters, EitherNameOfATiedPairWillDo) {
  Stored s = stored("qwen2");  // tied
  const auto whole = load_parameters(s.config, golden::reader(s.tensors));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  golden::Tensors head = s.tensors;
  auto node = head.extract("model.embed_tokens.weight");
  node.key() = "lm_head.weight";
  head.insert(std::move(node));
  const auto alone = load_parameters(s.config, golden::reader(head));
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_TRUE(
      at::equal(alone->at("model.embed_tokens.weight"), whole->at("model.embed_tokens.weight")));
}

TEST(Parameters, ATiedHeadThatDiffersIsWarnedOf) {
  Stored s = stored("qwen2");
  s.tensors["lm_head.weight"] = s.tensors.at("model.embed_tokens.weight").clone();
  testing::internal::CaptureStderr();
  EXPECT_EQ(complaint(s), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  s.tensors["lm_head.weight"][0][0] += 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(complaint(s), "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("lm_head.weight differs"));
}

TEST(Parameters, NamesWithoutTheBasePrefixAreFound) {
  Stored s = stored("gpt2");
  golden::Tensors bare;
  for (const auto& [name, tensor] : s.tensors) bare[name.substr(12)] = tensor;
  const auto with = load_parameters(s.config, golden::reader(s.tensors));
  const auto without = load_parameters(s.config, golden::reader(bare));
  ASSERT_TRUE(without.ok()) << without.status().message();
  for (const auto& [name, tensor] : with->entries()) {
    EXPECT_TRUE(at::equal(tensor, without->at(name))) << name;
  }
}

TEST(Parameters, CheckpointsComeBackAsTheyWere) {
  for (const char* name : {"llama", "mixtral", "gpt2", "qwen3_moe", "qwen3_next", "gemma2"}) {
    const Stored s = stored(name);
    const auto loaded = load_parameters(s.config, golden::reader(s.tensors));
    ASSERT_TRUE(loaded.ok()) << name;
    const auto out = to_checkpoint(s.config, *loaded);
    EXPECT_EQ(out.size(), s.tensors.size()) << name;
    for (const auto& [tensor, value] : out) {
      ASSERT_TRUE(s.tensors.contains(tensor)) << name << " " << tensor;
      EXPECT_TRUE(at::equal(value, s.tensors.at(tensor))) << name << " " << tensor;
    }
  }
}

TEST(Parameters, RandomOnesDependOnSeedOnly) {
  const Stored s = stored("qwen3_next");
  const Parameters a = Parameters::random(s.config, RandomKey(1));
  const Parameters b = Parameters::random(s.config, RandomKey(1));
  const Parameters c = Parameters::random(s.config, RandomKey(2));
  for (const auto& [name, tensor] : a.entries()) {
    EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
    EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
  }
  const std::string some = "model.layers.0.linear_attn.in_proj_qkvz.weight";
  EXPECT_FALSE(at::equal(a.at(some), c.at(some)));
  EXPECT_NEAR(a.at(some).std().item<double>(), s.config.initializer_range,
              0.2 * s.config.initializer_range);
  EXPECT_EQ(a.at("model.norm.weight").abs().max().item<double>(), 0);  // it multiplies by 1 + w
}

TEST(Parameters, GroupsLieEndToEnd) {
  const Stored s = stored("qwen2");
  const Parameters p = Parameters::random(s.config, RandomKey(1));
  const at::Tensor& q = p.at("model.layers.0.self_attn.q_proj.weight");
  const at::Tensor& k = p.at("model.layers.0.self_attn.k_proj.weight");
  EXPECT_EQ(q.data_ptr<float>() + q.numel(), k.data_ptr<float>());
}

}  // namespace
}  // namespace sluice
