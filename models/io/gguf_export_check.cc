// Whether a GGUF file says all that a config.json says.
#include "models/io/gguf_model.h"
#include "models/io/gguf_writer.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sluice::internal {
namespace {

using nlohmann::json;

/// A key that changes what a model computes, and what it means to be without it.
struct Switch {
  const char* key;
  json otherwise;
};

const std::vector<Switch>& switches() {
  static const std::vector<Switch> all = {
      {"hidden_act", "silu"},
      {"hidden_activation", "gelu_pytorch_tanh"},
      {"activation_function", "gelu_new"},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"use_sliding_window", false},
      {"partial_rotary_factor", 1},
      {"norm_topk_prob", false},
      {"decoder_sparse_step", 1},
      {"mlp_only_layers", json::array()},
      {"num_experts_per_tok", nullptr},
      {"query_pre_attn_scalar", 256},
      {"attn_logit_softcapping", 50},
      {"final_logit_softcapping", 30},
      {"scale_attn_weights", true},
      {"scale_attn_by_inverse_layer_idx", false},
  };
  return all;
}

bool same(const json& a, const json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const auto x = a.get<double>();
  const auto y = b.get<double>();
  return std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));  // floats are 32 bits there
}

json value_of(const json& config, const char* key, const json& otherwise) {
  const auto at = config.find(key);
  return at == config.end() ? otherwise : *at;
}

/// YaRN has more numbers than the format keeps.
Status check_rope(const json& config) {
  for (const char* form : {"rope_scaling", "rope_parameters"}) {
    const json rope = value_of(config, form, nullptr);
    if (!rope.is_object()) continue;
    const Switch lost[] = {{"beta_fast", 32},           {"beta_slow", 1},
                           {"mscale", nullptr},         {"mscale_all_dim", nullptr},
                           {"truncate", true},          {"attention_factor", nullptr},
                           {"partial_rotary_factor", 1}};
    for (const Switch& s : lost) {
      const json value = value_of(rope, s.key, s.otherwise);
      if (value.is_null() || same(value, s.otherwise)) continue;
      return error(Code::Unimplemented, "config.json: {} '{}' {} has no place in a GGUF file", form,
                   s.key, value.dump());
    }
  }
  return {};
}

}  // namespace

Status check_gguf_config(const json& config, const GgufMetadata& metadata,
                         const std::vector<GgufTensorToWrite>& tensors) {
  GgufHeader header;
  for (const auto& [key, value] : metadata) header.metadata.emplace(key, value);
  for (const auto& tensor : tensors) {
    GgufTensor& t = header.tensors.emplace_back();
    t.name = tensor.name;
    t.shape = tensor.shape;
  }
  ASSIGN_OR_RETURN(const json back, gguf_config(header, {}));
  for (const Switch& s : switches()) {
    // A family that lacks the key on both sides does not know it.
    if (!config.contains(s.key) && !back.contains(s.key)) continue;
    // Gemma's files may have it as hidden_activation alone.
    if (!config.contains(s.key) && config.contains("hidden_activation") &&
        std::string_view(s.key) == "hidden_act") {
      continue;
    }
    const json before = value_of(config, s.key, s.otherwise);
    const json after = value_of(back, s.key, s.otherwise);
    if (same(before, after) || (before.is_null() && same(s.otherwise, after))) continue;
    return error(
        Code::Unimplemented,
        "config.json: '{}' is {}, which has no place in a GGUF file: it would be read as {}", s.key,
        before.dump(), after.dump());
  }
  return check_rope(config);
}

}  // namespace sluice::internal
