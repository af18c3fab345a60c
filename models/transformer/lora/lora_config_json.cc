// adapter_config.json, as PEFT 0.21 writes it.
#include "dataflow/base/nearest.h"
#include "models/transformer/lora/lora_config.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <string_view>

namespace sluice {
namespace {
using Json = nlohmann::json;

/// Options that change what an adapter computes. Read only when they say "off".
constexpr std::array kUnsupported = {"alora_invocation_tokens",
                                     "arrow_config",
                                     "corda_config",
                                     "ensure_weight_tying",
                                     "eva_config",
                                     "kasa_config",
                                     "layer_replication",
                                     "layers_pattern",
                                     "loftq_config",
                                     "lora_bias",
                                     "lora_ga_config",
                                     "megatron_config",
                                     "monteclora_config",
                                     "target_parameters",
                                     "use_bdlora",
                                     "use_dora",
                                     "use_qalora",
                                     "velora_config",
                                     "trainable_token_indices"};
/// What is of no account for what an adapter computes.
constexpr std::array kPassedOver = {"auto_mapping",  "inference_mode",    "megatron_core",
                                    "peft_version",  "qalora_group_size", "revision",
                                    "runtime_config"};
constexpr std::array kRead = {"alpha_pattern",
                              "base_model_name_or_path",
                              "bias",
                              "exclude_modules",
                              "fan_in_fan_out",
                              "init_lora_weights",
                              "layers_to_transform",
                              "lora_alpha",
                              "lora_dropout",
                              "modules_to_save",
                              "peft_type",
                              "r",
                              "rank_pattern",
                              "target_modules",
                              "task_type",
                              "use_rslora"};

template <class Names>
bool among(const Names& names, std::string_view key) {
  for (const std::string_view name : names) {
    if (name == key) return true;
  }
  return false;
}

bool off(const Json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty()) ||
         (value.is_string() && value.get_ref<const std::string&>().empty());
}

Status wrong(std::string_view key, std::string_view wanted, const Json& value) {
  return invalid_argument("{}: must be {}, not {}", key, wanted, value.type_name());
}

/// Reads the keys of one object into fields; absent and null keys leave the field as it is.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Status read(const char* key, bool& out) const {
    return with(key, "true or false", [&](const Json& v) {
      if (!v.is_boolean()) return false;
      out = v.get<bool>();
      return true;
    });
  }
  Status read(const char* key, int64_t& out) const {
    return with(key, "a whole number", [&](const Json& v) { return whole(v, out); });
  }
  Status read(const char* key, double& out) const {
    return with(key, "a number", [&](const Json& v) { return number(v, out); });
  }
  Status read(const char* key, std::string& out) const {
    return with(key, "a string", [&](const Json& v) { return text(v, out); });
  }
  Status read(const char* key, std::vector<std::string>& out) const {
    return with(key, "a list of strings", [&](const Json& v) { return list(v, out, text); });
  }
  Status read(const char* key, std::vector<int64_t>& out) const {
    return with(key, "a whole number or a list of them", [&](const Json& v) {
      int64_t one = 0;
      if (!whole(v, one)) return list(v, out, whole);
      out = {one};
      return true;
    });
  }
  Status read(const char* key, ModuleChoice& out) const {
    return with(key, "a string or a list of strings", [&](const Json& v) {
      return v.is_string() ? text(v, out.pattern) : list(v, out.names, text);
    });
  }
  Status read(const char* key, std::map<std::string, int64_t>& out) const {
    return with(key, "an object of whole numbers",
                [&](const Json& v) { return map(v, out, whole); });
  }
  Status read(const char* key, std::map<std::string, double>& out) const {
    return with(key, "an object of numbers", [&](const Json& v) { return map(v, out, number); });
  }

 private:
  static bool text(const Json& v, std::string& out) {
    if (!v.is_string()) return false;
    out = v.get_ref<const std::string&>();
    return true;
  }
  static bool number(const Json& v, double& out) {
    if (!v.is_number()) return false;
    out = v.get<double>();
    return true;
  }
  static bool whole(const Json& v, int64_t& out) {
    if (v.is_number_unsigned() && v.get<uint64_t>() > uint64_t{INT64_MAX}) return false;
    if (!v.is_number_integer()) return false;
    out = v.get<int64_t>();
    return true;
  }
  template <class T>
  static bool list(const Json& v, std::vector<T>& out, bool (*one)(const Json&, T&)) {
    if (!v.is_array()) return false;
    out.assign(v.size(), T());
    for (size_t i = 0; i < v.size(); ++i) {
      if (!one(v[i], out[i])) return false;
    }
    return true;
  }
  template <class T>
  static bool map(const Json& v, std::map<std::string, T>& out, bool (*one)(const Json&, T&)) {
    if (!v.is_object()) return false;
    for (const auto& [key, value] : v.items()) {
      if (!one(value, out[key])) return false;
    }
    return true;
  }
  template <class F>
  Status with(const char* key, const char* wanted, const F& take) const {
    const auto at = json_.find(key);
    if (at == json_.end() || at->is_null() || take(*at)) return {};
    return wrong(key, wanted, *at);
  }

  const Json& json_;
};

Status check_keys(const Json& json) {
  std::vector<std::string> known(kRead.begin(), kRead.end());
  for (const auto& [key, value] : json.items()) {
    if (among(kRead, key) || among(kPassedOver, key) || off(value)) continue;
    if (among(kUnsupported, key)) {
      return error(Code::Unimplemented, "{}: this option of PEFT is not supported", key);
    }
    return invalid_argument("{}: no such option{}", key, did_you_mean(key, known));
  }
  return {};
}

/// Initialisations that start from changed base weights make an adapter that does not fit the
/// model's own.
Status check_initialisation(const Json& json) {
  const auto at = json.find("init_lora_weights");
  if (at == json.end() || at->is_boolean() || at->is_null()) return {};
  if (at->is_string() && (*at == "gaussian" || *at == "orthogonal")) return {};
  return error(Code::Unimplemented, "init_lora_weights: {} is not supported",
               at->dump(-1, ' ', false, Json::error_handler_t::replace));
}
}  // namespace

Result<LoraConfig> LoraConfig::from_json(const Json& json) {
  if (!json.is_object()) return invalid_argument("an adapter's config must be an object");
  RETURN_IF_ERROR(check_keys(json));
  RETURN_IF_ERROR(check_initialisation(json));
  const Reader reader(json);
  LoraConfig out;
  std::string type = "LORA", bias = "none";
  RETURN_IF_ERROR(reader.read("peft_type", type));
  if (type != "LORA") {
    return error(Code::Unimplemented, "peft_type: '{}' is not supported, only LORA is", type);
  }
  RETURN_IF_ERROR(reader.read("bias", bias));
  if (bias != "none") {
    return error(Code::Unimplemented, "bias: '{}' is not supported, only 'none' is", bias);
  }
  RETURN_IF_ERROR(reader.read("r", out.rank));
  RETURN_IF_ERROR(reader.read("lora_alpha", out.alpha));
  RETURN_IF_ERROR(reader.read("lora_dropout", out.dropout));
  RETURN_IF_ERROR(reader.read("use_rslora", out.rslora));
  RETURN_IF_ERROR(reader.read("target_modules", out.targets));
  RETURN_IF_ERROR(reader.read("exclude_modules", out.excluded));
  RETURN_IF_ERROR(reader.read("layers_to_transform", out.layers));
  RETURN_IF_ERROR(reader.read("rank_pattern", out.rank_pattern));
  RETURN_IF_ERROR(reader.read("alpha_pattern", out.alpha_pattern));
  RETURN_IF_ERROR(reader.read("modules_to_save", out.modules_to_save));
  RETURN_IF_ERROR(reader.read("base_model_name_or_path", out.base_model));
  RETURN_IF_ERROR(reader.read("fan_in_fan_out", out.fan_in_fan_out));
  if (json.contains("task_type")) out.task_type.clear();  // null is a choice of its own
  RETURN_IF_ERROR(reader.read("task_type", out.task_type));
  RETURN_IF_ERROR(out.check());
  return out;
}

Json LoraConfig::to_json() const {
  const auto choice = [](const ModuleChoice& c) -> Json {
    if (!c.names.empty()) return c.names;
    return c.pattern.empty() ? Json() : Json(c.pattern);
  };
  const auto text = [](const std::string& s) { return s.empty() ? Json() : Json(s); };
  const auto number = [](double x) {
    return x == std::floor(x) && std::abs(x) < 1e15 ? Json(static_cast<int64_t>(x)) : Json(x);
  };
  Json alphas = Json::object();
  for (const auto& [pattern, value] : alpha_pattern) alphas[pattern] = number(value);
  return {{"peft_type", "LORA"},
          {"task_type", text(task_type)},
          {"base_model_name_or_path", text(base_model)},
          {"r", rank},
          {"lora_alpha", number(alpha)},
          {"lora_dropout", dropout},
          {"use_rslora", rslora},
          {"target_modules", choice(targets)},
          {"exclude_modules", choice(excluded)},
          {"layers_to_transform", layers.empty() ? Json() : Json(layers)},
          {"rank_pattern", Json(rank_pattern)},
          {"alpha_pattern", alphas},
          {"modules_to_save", modules_to_save.empty() ? Json() : Json(modules_to_save)},
          {"fan_in_fan_out", fan_in_fan_out},
          {"bias", "none"},
          {"init_lora_weights", true},
          {"inference_mode", true}};
}

}  // namespace sluice
