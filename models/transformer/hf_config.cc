#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, MlpActivation>, 6> kActivations = {
    {{"silu", MlpActivation::Silu},
     {"swish", MlpActivation::Silu},
     {"gelu_pytorch_tanh", MlpActivation::GeluTanh},
     {"gelu_new", MlpActivation::GeluTanh},
     {"gelu", MlpActivation::Gelu},
     {"relu", MlpActivation::Relu}}};

}  // namespace

HfConfig::HfConfig(const json& object) : object_(object) {
  if (!object.is_object()) complain("is not an object");
}

const json* HfConfig::find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool HfConfig::absent(std::string_view key) const {
  return !object_.is_object() || !object_.contains(std::string(key));
}

bool HfConfig::has(std::string_view key) const { return find(key) != nullptr; }

void HfConfig::complain(std::string message) {
  if (status_.ok()) status_ = invalid_argument("config.json: {}", message);
}

int64_t HfConfig::integer(std::string_view key, std::optional<int64_t> otherwise) {
  const json* value = find(key);
  if (value == nullptr) {
    if (!otherwise) complain(fmt::format("key '{}' is missing", key));
    return otherwise.value_or(0);
  }
  // Some writers store counts as 32.0.
  if (value->is_number_float()) {
    const double x = value->get<double>();
    if (x == std::floor(x) && std::abs(x) < 9e15) return static_cast<int64_t>(x);
  }
  if (value->is_number_integer() &&
      !(value->is_number_unsigned() && value->get<uint64_t>() > (uint64_t{1} << 62))) {
    return value->get<int64_t>();
  }
  complain(fmt::format("key '{}' must be an integer", key));
  return 0;
}

double HfConfig::number(std::string_view key, std::optional<double> otherwise) {
  const json* value = find(key);
  if (value == nullptr) {
    if (!otherwise) complain(fmt::format("key '{}' is missing", key));
    return otherwise.value_or(0);
  }
  if (value->is_number()) return value->get<double>();
  complain(fmt::format("key '{}' must be a number", key));
  return 0;
}

bool HfConfig::flag(std::string_view key, bool otherwise) {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  complain(fmt::format("key '{}' must be true or false", key));
  return otherwise;
}

std::string HfConfig::text(std::string_view key, std::optional<std::string> otherwise) {
  const json* value = find(key);
  if (value == nullptr) {
    if (!otherwise) complain(fmt::format("key '{}' is missing", key));
    return otherwise.value_or("");
  }
  if (value->is_string()) return value->get<std::string>();
  complain(fmt::format("key '{}' must be a string", key));
  return "";
}

std::vector<int64_t> HfConfig::integers(std::string_view key) {
  std::vector<int64_t> all;
  const json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) {
    complain(fmt::format("key '{}' must be a list of integers", key));
    return all;
  }
  for (const json& item : *value) {
    if (!item.is_number_integer() && !item.is_boolean()) {
      complain(fmt::format("key '{}' must be a list of integers", key));
      return {};
    }
    all.push_back(item.is_boolean() ? static_cast<int64_t>(item.get<bool>()) : item.get<int64_t>());
  }
  return all;
}

std::vector<std::string> HfConfig::texts(std::string_view key) {
  std::vector<std::string> all;
  const json* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_array()) {
    complain(fmt::format("key '{}' must be a list of strings", key));
    return all;
  }
  for (const json& item : *value) {
    if (!item.is_string()) {
      complain(fmt::format("key '{}' must be a list of strings", key));
      return {};
    }
    all.push_back(item.get<std::string>());
  }
  return all;
}

MlpActivation HfConfig::activation(std::string_view key, std::string_view otherwise) {
  const std::string wanted = text(key, std::string(otherwise));
  std::vector<std::string_view> known;
  for (const auto& [name, activation] : kActivations) {
    if (name == wanted) return activation;
    known.push_back(name);
  }
  complain(fmt::format("key '{}': unknown activation '{}' (known: {})", key, wanted,
                       fmt::join(known, ", ")));
  return MlpActivation::Silu;
}

std::string_view hf_activation(MlpActivation activation) noexcept {
  for (const auto& [name, known] : kActivations) {
    if (known == activation) return name;
  }
  return "silu";
}

TransformerConfig read_common(HfConfig& hf, const TransformerConfig& otherwise) {
  TransformerConfig c = otherwise;
  c.vocab_size = hf.integer("vocab_size");
  c.hidden_size = hf.integer("hidden_size");
  c.intermediate_size = hf.integer("intermediate_size");
  c.heads = hf.integer("num_attention_heads");
  // Null means one for each head, also where an absent key means another number.
  const bool usual = hf.absent("num_key_value_heads") && otherwise.kv_heads > 0;
  c.kv_heads = hf.integer("num_key_value_heads", usual ? otherwise.kv_heads : c.heads);
  const int64_t even = c.heads > 0 ? c.hidden_size / c.heads : 0;
  c.head_dim = hf.integer("head_dim", otherwise.head_dim > 0 ? otherwise.head_dim : even);
  c.max_positions = hf.integer("max_position_embeddings", otherwise.max_positions);
  c.norm_eps = hf.number("rms_norm_eps", otherwise.norm_eps);
  c.activation = hf.activation("hidden_act", hf_activation(otherwise.activation));
  c.rope = hf.rope(otherwise.rope.theta, c.max_positions, otherwise.rope.partial_rotary_factor);
  c.tied_head = hf.flag("tie_word_embeddings", otherwise.tied_head);
  c.initializer_range = hf.number("initializer_range", 0.02);
  const int64_t layers = hf.integer("num_hidden_layers");
  if (layers < 1 || layers > (1 << 14)) {
    hf.complain(fmt::format("key 'num_hidden_layers' is {}, must be 1 to {}", layers, 1 << 14));
  } else {
    c.layers.assign(static_cast<size_t>(layers), LayerConfig{});
  }
  if (c.head_dim > 0) c.attention_scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
  return c;
}

void read_layer_types(HfConfig& hf, int64_t window, TransformerConfig& config) {
  const auto types = hf.texts("layer_types");
  if (types.empty()) return;
  if (types.size() < config.layers.size()) {
    hf.complain(fmt::format("key 'layer_types' has {} entries for {} layers", types.size(),
                            config.layers.size()));
    return;
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    LayerConfig& layer = config.layers[i];
    layer.window = types[i] == "sliding_attention" ? window : 0;
    layer.mixer = types[i] == "linear_attention" ? MixerKind::GatedDelta : MixerKind::Attention;
    if (types[i] != "full_attention" && types[i] != "sliding_attention" &&
        types[i] != "linear_attention") {
      hf.complain(
          fmt::format("key 'layer_types': unknown type '{}' (known: full_attention, "
                      "sliding_attention, linear_attention)",
                      types[i]));
    }
  }
}

json write_layer_types(const TransformerConfig& config) {
  json types = json::array();
  for (const LayerConfig& layer : config.layers) {
    types.push_back(layer.mixer == MixerKind::GatedDelta ? "linear_attention"
                    : layer.window > 0                   ? "sliding_attention"
                                                         : "full_attention");
  }
  return types;
}

}  // namespace sluice
