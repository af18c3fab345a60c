#include "models/io/gguf_model.h"
#include "models/io/gguf_writer.h"
#include "models/io/hf_writer.h"
#include "models/tokenizer/tokenizer.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace sluice {
namespace internal {
namespace {

using nlohmann::json;

/// model_type and the architecture of llama.cpp that runs it.
constexpr std::pair<const char*, const char*> kArchitectures[] = {
    {"llama", "llama"}, {"mistral", "llama"},      {"mixtral", "llama"}, {"qwen2", "qwen2"},
    {"qwen3", "qwen3"}, {"qwen3_moe", "qwen3moe"}, {"gemma2", "gemma2"}, {"gpt2", "gpt2"}};

/// Reads keys of config.json; the first failure stays.
class ConfigReader {
 public:
  explicit ConfigReader(const json& config) : config_(config) {}

  int64_t integer(const char* key) {
    const auto at = config_.find(key);
    if (at != config_.end() && at->is_number_integer()) return at->get<int64_t>();
    return missing(key, "a whole number"), 0;
  }
  int64_t integer_or(const char* key, int64_t otherwise) {
    const auto at = config_.find(key);
    return at == config_.end() || at->is_null() ? otherwise : integer(key);
  }
  double number(const char* key) {
    const auto at = config_.find(key);
    if (at != config_.end() && at->is_number()) return at->get<double>();
    return missing(key, "a number"), 0.0;
  }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  void missing(const char* key, const char* what) {
    if (status_.ok()) status_ = invalid_argument("config.json: '{}' is not {}", key, what);
  }
  const json& config_;
  Status status_;
};

/// The two spellings of rope settings: rope_parameters, or rope_theta beside rope_scaling.
json rope_of(const json& config) {
  json out = json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.contains(key) && config[key].is_object()) out.update(config[key]);
  }
  if (!out.contains("rope_theta")) {
    out["rope_theta"] = config.contains("rope_theta") ? config["rope_theta"] : json(10000.0);
  }
  if (!out.contains("rope_type")) {
    out["rope_type"] = out.contains("type") ? out["type"] : json("default");
  }
  return out;
}

Status add_rope(const json& config, const std::string& prefix, GgufMetadata& out) {
  const json rope = rope_of(config);
  ConfigReader in(rope);
  out.emplace_back(prefix + "rope.freq_base", gguf_f32(in.number("rope_theta")));
  const auto type = rope["rope_type"].is_string() ? rope["rope_type"].get<std::string>() : "";
  if (type == "linear" || type == "yarn") {
    out.emplace_back(prefix + "rope.scaling.type", gguf_string(type));
    out.emplace_back(prefix + "rope.scaling.factor", gguf_f32(in.number("factor")));
    const int64_t original = in.integer_or("original_max_position_embeddings", 0);
    if (original > 0) {
      out.emplace_back(prefix + "rope.scaling.original_context_length", gguf_u32(original));
    }
  } else if (type != "default" && type != "llama3") {
    return error(Code::Unimplemented,
                 "config.json: rope_type '{}' has no GGUF form; known are default, linear, yarn, "
                 "llama3",
                 type);
  }
  return in.status();
}

Status add_gpt2(const json& config, GgufMetadata& out) {
  ConfigReader in(config);
  out.emplace_back("gpt2.block_count", gguf_u32(in.integer("n_layer")));
  out.emplace_back("gpt2.context_length", gguf_u32(in.integer("n_positions")));
  const int64_t width = in.integer("n_embd");
  out.emplace_back("gpt2.embedding_length", gguf_u32(width));
  out.emplace_back("gpt2.feed_forward_length", gguf_u32(in.integer_or("n_inner", 4 * width)));
  out.emplace_back("gpt2.attention.head_count", gguf_u32(in.integer("n_head")));
  out.emplace_back("gpt2.attention.layer_norm_epsilon", gguf_f32(in.number("layer_norm_epsilon")));
  return in.status();
}

Status add_llama_family(const json& config, const std::string& arch, GgufMetadata& out) {
  const std::string prefix = arch + ".";
  ConfigReader in(config);
  const auto add = [&](const char* key, int64_t value) {
    out.emplace_back(prefix + key, gguf_u32(value));
  };
  const int64_t heads = in.integer("num_attention_heads");
  const int64_t hidden = in.integer("hidden_size");
  RETURN_IF_ERROR(in.status());
  if (heads <= 0) return invalid_argument("config.json: num_attention_heads is {}", heads);
  const int64_t head_dim = in.integer_or("head_dim", hidden / heads);
  add("block_count", in.integer("num_hidden_layers"));
  add("context_length", in.integer("max_position_embeddings"));
  add("embedding_length", hidden);
  add("feed_forward_length", in.integer("intermediate_size"));
  add("attention.head_count", heads);
  add("attention.head_count_kv", in.integer_or("num_key_value_heads", heads));
  add("attention.key_length", head_dim);
  add("attention.value_length", head_dim);
  add("vocab_size", in.integer("vocab_size"));
  if (arch == "llama") add("rope.dimension_count", head_dim);
  out.emplace_back(prefix + "attention.layer_norm_rms_epsilon",
                   gguf_f32(in.number("rms_norm_eps")));
  const auto type = config.find("model_type");
  if (type != config.end() && (*type == "mistral" || *type == "mixtral")) {
    // As in transformers: an absent key is 4096 to Mistral and none to Mixtral.
    const bool absent = !config.contains("sliding_window");
    const int64_t window = in.integer_or("sliding_window", absent && *type == "mistral" ? 4096 : 0);
    if (window > 0) add("attention.sliding_window", window);
  }
  if (arch == "gemma2") {
    add("attention.sliding_window", in.integer("sliding_window"));
    out.emplace_back("gemma2.attn_logit_softcapping",
                     gguf_f32(in.number("attn_logit_softcapping")));
    out.emplace_back("gemma2.final_logit_softcapping",
                     gguf_f32(in.number("final_logit_softcapping")));
  }
  // Qwen's own files have the one name, those of newer transformers the other.
  const char* experts = config.contains("num_experts") ? "num_experts" : "num_local_experts";
  if (config.contains(experts)) {
    add("expert_count", in.integer(experts));
    add("expert_used_count", in.integer("num_experts_per_tok"));
    if (arch == "qwen3moe") {
      add("expert_feed_forward_length", in.integer("moe_intermediate_size"));
    }
  }
  RETURN_IF_ERROR(in.status());
  return add_rope(config, prefix, out);
}

/// A model may end its turn with other tokens than its text; the format has places for two.
void add_more_ends(const json& generation, GgufMetadata& out) {
  const auto ends = generation.find("eos_token_id");
  if (ends == generation.end() || !ends->is_array()) return;
  int64_t known = -1;
  for (const auto& [key, value] : out) {
    if (key == "tokenizer.ggml.eos_token_id") known = std::get<int64_t>(value.value);
  }
  std::vector<std::string> places = {"tokenizer.ggml.eom_token_id", "tokenizer.ggml.eot_token_id"};
  for (const json& id : *ends) {
    if (places.empty() || !id.is_number_unsigned() || id.get<int64_t>() == known) continue;
    out.emplace_back(places.back(), gguf_u32(id.get<int64_t>()));
    places.pop_back();
  }
}

}  // namespace

GgufValue gguf_u32(int64_t value) { return {GgufType::U32, value}; }
GgufValue gguf_f32(double value) { return {GgufType::F32, value}; }
GgufValue gguf_bool(bool value) { return {GgufType::Bool, static_cast<int64_t>(value)}; }
GgufValue gguf_string(std::string value) { return {GgufType::String, std::move(value)}; }

Result<std::string> gguf_architecture_of(const json& config) {
  const auto type = config.find("model_type");
  std::vector<std::string> known;
  for (const auto& [model_type, architecture] : kArchitectures) {
    if (type != config.end() && *type == model_type) return std::string(architecture);
    known.emplace_back(model_type);
  }
  return error(Code::Unimplemented, "config.json: model_type {} has no GGUF form; known are {}",
               type == config.end() ? "(missing)" : type->dump(), fmt::join(known, ", "));
}

std::vector<float> llama3_rope_factors(const json& config) {
  const json rope = rope_of(config);
  if (rope["rope_type"] != "llama3") return {};
  ConfigReader in(rope);
  const double factor = in.number("factor");
  const double low = in.number("low_freq_factor");
  const double high = in.number("high_freq_factor");
  const double original = in.number("original_max_position_embeddings");
  const double theta = in.number("rope_theta");
  ConfigReader sizes(config);
  const int64_t heads = std::max<int64_t>(1, sizes.integer("num_attention_heads"));
  const int64_t head_dim = sizes.integer_or("head_dim", sizes.integer("hidden_size") / heads);
  constexpr int64_t kWidest = 65536;
  std::vector<float> out;
  if (head_dim > kWidest) return out;
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const double wavelength =
        2 * std::numbers::pi *
        std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    double value = 1;
    if (wavelength > original / low) {
      value = factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      value = 1 / ((1 - smooth) / factor + smooth);
    }
    out.push_back(static_cast<float>(value));
  }
  return out;
}

Result<GgufMetadata> gguf_metadata(const Checkpoint& from, const std::string& architecture) {
  const json& config = from.config();
  GgufMetadata out;
  out.emplace_back("general.architecture", gguf_string(architecture));
  out.emplace_back("general.quantization_version", gguf_u32(2));
  RETURN_IF_ERROR(architecture == "gpt2" ? add_gpt2(config, out)
                                         : add_llama_family(config, architecture, out));
  auto tokenizer = from.tokenizer_json();
  if (!tokenizer.ok() && tokenizer.status().code() == Code::NotFound) return out;
  if (!tokenizer.ok()) return tokenizer.status();
  // What cannot be read is not passed on under another form.
  RETURN_IF_ERROR(
      Tokenizer::from_json(tokenizer->dump(-1, ' ', false, json::error_handler_t::replace),
                           "tokenizer.json")
          .status());
  ASSIGN_OR_RETURN(const json tokenizer_config, from.tokenizer_config());
  RETURN_IF_ERROR(add_gguf_tokenizer(*tokenizer, tokenizer_config, config, out));
  add_more_ends(from.generation_config(), out);
  return out;
}

}  // namespace internal

namespace {

/// One GGUF tensor and the Hugging Face tensors it is made of (several: stacked experts).
struct Part {
  GgufTarget target;
  std::vector<std::string> sources;
};

at::Tensor transformed(const GgufTarget& target, at::Tensor value) {
  switch (target.transform) {
    case GgufTransform::None:
      break;
    case GgufTransform::UnpermuteHeads: {
      const int64_t half = value.size(0) / target.heads / 2;
      const auto sizes = value.sizes().vec();
      value = value.reshape({target.heads, 2, half, -1}).transpose(1, 2).reshape(sizes);
      break;
    }
    case GgufTransform::Transpose:
      value = value.t();
      break;
    case GgufTransform::MinusOne:
      value = value + 1;
      break;
  }
  return value.contiguous();
}

}  // namespace

Status convert_to_gguf(const Checkpoint& from, const std::string& path, StoredType type) {
  const auto named = [&](const Status& status) { return status.with_context(from.path()); };
  RETURN_IF_ERROR(refuse_quantized(from));
  const auto architecture = internal::gguf_architecture_of(from.config());
  if (!architecture.ok()) return named(architecture.status());
  auto metadata = internal::gguf_metadata(from, *architecture);
  if (!metadata.ok()) return named(metadata.status());
  std::vector<Part> parts;
  std::map<std::string, size_t> by_name;
  const auto tie = from.config().find("tie_word_embeddings");
  const bool tied = tie == from.config().end() ? *architecture == "gpt2" : *tie == true;
  for (const auto& tensor : from.tensors()) {
    if (tied && tensor.name == "lm_head.weight") continue;
    if (!is_float(tensor.type)) {
      return named(error(Code::Unimplemented, "tensor '{}' is {}, not floating-point numbers",
                         tensor.name, name(tensor.type)));
    }
    auto target = gguf_target(*architecture, from.config(), tensor.name, tensor.shape);
    if (!target.ok()) return named(target.status());
    const auto [at, fresh] = by_name.emplace(target->name, parts.size());
    if (fresh) parts.push_back({*target, {}});
    auto& sources = parts[at->second].sources;
    const auto place = static_cast<size_t>(std::max<int64_t>(target->slice, 0));
    if (place >= from.tensors().size()) {
      return named(invalid_argument("tensor '{}' has too large a number", tensor.name));
    }
    if (sources.size() <= place) sources.resize(place + 1);
    sources[place] = tensor.name;
  }
  std::vector<GgufTensorToWrite> tensors;
  for (const Part& part : parts) {
    auto shape = part.target.shape;
    if (part.target.slice >= 0) {
      shape.insert(shape.begin(), static_cast<int64_t>(part.sources.size()));
    }
    StoredType as = shape.size() < 2 ? StoredType::F32 : type;
    if (as == StoredType::Q8_0 && shape.back() % block_elements(as) != 0) as = StoredType::F16;
    tensors.push_back({part.target.name, as, std::move(shape)});
  }
  const auto factors = internal::llama3_rope_factors(from.config());
  RETURN_IF_ERROR(named(internal::check_gguf_config(from.config(), *metadata, tensors)));
  if (!factors.empty()) {
    tensors.push_back(
        {"rope_freqs.weight", StoredType::F32, {static_cast<int64_t>(factors.size())}});
  }
  const auto producer = [&](size_t i) -> Result<at::Tensor> {
    if (i == parts.size()) {
      return at::from_blob(const_cast<float*>(factors.data()),
                           {static_cast<int64_t>(factors.size())}, at::kFloat);
    }
    std::vector<at::Tensor> values;
    for (const auto& source : parts[i].sources) {
      if (source.empty()) {
        return invalid_argument("{}: tensor '{}' lacks an expert", from.path(),
                                parts[i].target.name);
      }
      ASSIGN_OR_RETURN(at::Tensor value, from.read_copy(source, at::kFloat));
      values.push_back(transformed(parts[i].target, std::move(value)));
    }
    return parts[i].target.slice >= 0 ? at::stack(values) : values[0];
  };
  return write_gguf(path, *metadata, tensors, producer);
}

}  // namespace sluice
