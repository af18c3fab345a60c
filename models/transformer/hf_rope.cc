// RoPE's part of config.json in its two forms, and the fields that most configs share.
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using nlohmann::json;

constexpr std::string_view kKnown = "default, linear, dynamic, llama3, yarn";

/// One object that holds all of RoPE's numbers, from either form. As in transformers, a
/// rope_scaling that says something stands for all of rope_parameters.
json merged(const json& object) {
  json all = json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto found = object.find(key);
    if (all.empty() && found != object.end() && found->is_object()) all = *found;
  }
  // The outer keys are the older form; inside they win.
  for (const char* key :
       {"rope_theta", "partial_rotary_factor", "original_max_position_embeddings"}) {
    const auto found = object.find(key);
    const bool inside = all.contains(key) && !all[key].is_null();
    if (found != object.end() && !found->is_null() && !inside) all[key] = *found;
  }
  return all;
}

}  // namespace

RopeConfig HfConfig::rope(double default_theta, int64_t max_positions, double default_partial) {
  RopeConfig rope;
  rope.type = RopeType::Default;
  if (!object_.is_object()) return rope;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* value = find(key);
    if (value != nullptr && !value->is_object()) {
      complain(fmt::format("key '{}' must be an object", key));
      return rope;
    }
  }
  const json all = merged(object_);
  HfConfig hf(all);
  const std::string type = hf.text("rope_type", hf.text("type", "default"));
  if (const auto known = rope_type(type)) {
    rope.type = *known;
  } else {
    complain(fmt::format("unknown rope_type '{}' (known: {})", type, kKnown));
  }
  rope.theta = hf.number("rope_theta", default_theta);
  rope.partial_rotary_factor = hf.number("partial_rotary_factor", default_partial);
  if (rope.type != RopeType::Default) {
    // The other two stretch the config's own number.
    const bool own = rope.type == RopeType::Llama3 || rope.type == RopeType::Yarn;
    rope.original_max_positions =
        own ? hf.integer("original_max_position_embeddings", max_positions) : max_positions;
    const double stretched =
        rope.original_max_positions > 0
            ? static_cast<double>(max_positions) / static_cast<double>(rope.original_max_positions)
            : 1;
    rope.factor =
        rope.type == RopeType::Yarn ? hf.number("factor", stretched) : hf.number("factor");
  }
  if (rope.type == RopeType::Llama3) {
    rope.low_freq_factor = hf.number("low_freq_factor");
    rope.high_freq_factor = hf.number("high_freq_factor");
  }
  if (rope.type == RopeType::Yarn) {
    rope.attention_factor = hf.number("attention_factor", 0);
    rope.mscale = hf.number("mscale", 0);
    rope.mscale_all_dim = hf.number("mscale_all_dim", 0);
    rope.truncate = hf.flag("truncate", true);
    rope.beta_fast = hf.number("beta_fast", 32);
    rope.beta_slow = hf.number("beta_slow", 1);
  }
  if (!hf.status().ok() && status_.ok()) status_ = hf.status();
  return rope;
}

json write_common(const TransformerConfig& c) {
  json out = {{"vocab_size", c.vocab_size},
              {"hidden_size", c.hidden_size},
              {"intermediate_size", c.intermediate_size},
              {"num_hidden_layers", c.layers.size()},
              {"num_attention_heads", c.heads},
              {"num_key_value_heads", c.kv_heads},
              {"head_dim", c.head_dim},
              {"max_position_embeddings", c.max_positions},
              {"rms_norm_eps", c.norm_eps},
              {"hidden_act", hf_activation(c.activation)},
              {"tie_word_embeddings", c.tied_head},
              {"initializer_range", c.initializer_range},
              {"rope_theta", c.rope.theta},
              {"rope_scaling", nullptr}};
  const RopeConfig& rope = c.rope;
  if (rope.partial_rotary_factor != 1) out["partial_rotary_factor"] = rope.partial_rotary_factor;
  if (rope.type == RopeType::Default || rope.type == RopeType::None) return out;
  json scaling = {{"rope_type", name(rope.type)}, {"factor", rope.factor}};
  if (rope.type == RopeType::Llama3 || rope.type == RopeType::Yarn) {
    scaling["original_max_position_embeddings"] = rope.original_max_positions;
  }
  if (rope.type == RopeType::Llama3) {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
  }
  if (rope.type == RopeType::Yarn) {
    scaling["beta_fast"] = rope.beta_fast;
    scaling["beta_slow"] = rope.beta_slow;
    if (rope.attention_factor != 0) scaling["attention_factor"] = rope.attention_factor;
    if (rope.mscale != 0) scaling["mscale"] = rope.mscale;
    if (rope.mscale_all_dim != 0) scaling["mscale_all_dim"] = rope.mscale_all_dim;
    if (!rope.truncate) scaling["truncate"] = false;
  }
  out["rope_scaling"] = scaling;
  return out;
}

}  // namespace sluice
