#include "models/io/gguf_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace sluice {
namespace {

using nlohmann::json;

struct Family {
  const char* gguf;
  const char* model_type;
  const char* architecture;
};
constexpr Family kFamilies[] = {
    {"llama", "llama", "LlamaForCausalLM"},    {"qwen2", "qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM"},    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM"},
    {"gemma2", "gemma2", "Gemma2ForCausalLM"}, {"gpt2", "gpt2", "GPT2LMHeadModel"},
};

/// A number that was a float in the file, as a person would have written it: 1e-05.
Result<double> written(const GgufHeader& header, const std::string& key) {
  ASSIGN_OR_RETURN(const double value, header.number(key));
  const std::string text = fmt::format("{}", static_cast<float>(value));
  return std::strtod(text.c_str(), nullptr);
}

const GgufTensor* find_tensor(const GgufHeader& header, std::string_view name) {
  for (const auto& tensor : header.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Status add_token_ids(const GgufHeader& header, json& out) {
  const std::pair<const char*, const char*> kIds[] = {
      {"bos_token_id", "tokenizer.ggml.bos_token_id"},
      {"eos_token_id", "tokenizer.ggml.eos_token_id"},
      {"pad_token_id", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [name, key] : kIds) {
    if (header.find(key) == nullptr) continue;
    ASSIGN_OR_RETURN(out[name], header.integer(key));
  }
  return {};
}

/// Factors that Llama 3.x divides its frequencies by, as its config.json spells them. The file
/// keeps only the factors, so the published settings are tried and must give the same numbers.
Result<json> llama3_scaling(const std::vector<float>& factors, double theta, int64_t head_dim) {
  if (static_cast<int64_t>(factors.size()) != head_dim / 2) {
    return invalid_argument("rope_freqs.weight has {} numbers, not {}", factors.size(),
                            head_dim / 2);
  }
  const double factor = *std::max_element(factors.begin(), factors.end());
  constexpr double kLow = 1, kHigh = 4, kOriginal = 8192;
  for (size_t i = 0; i < factors.size(); ++i) {
    const double frequency =
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    const double wavelength = 2 * std::numbers::pi / frequency;
    double wanted = 1;
    if (wavelength > kOriginal / kLow) {
      wanted = factor;
    } else if (wavelength >= kOriginal / kHigh) {
      const double smooth = (kOriginal / wavelength - kLow) / (kHigh - kLow);
      wanted = 1 / ((1 - smooth) / factor + smooth);
    }
    if (!(std::abs(wanted - factors[i]) <= 1e-3 * wanted)) {  // NaN too
      return error(Code::Unimplemented,
                   "rope_freqs.weight[{}] is {}, which is not Llama 3's scaling by {}", i,
                   factors[i], factor);
    }
  }
  return json{{"rope_type", "llama3"},
              {"factor", factor},
              {"low_freq_factor", kLow},
              {"high_freq_factor", kHigh},
              {"original_max_position_embeddings", static_cast<int64_t>(kOriginal)}};
}

Status add_rope(const GgufHeader& header, const std::string& arch,
                const std::vector<float>& factors, json& out) {
  const std::string prefix = arch + ".rope.";
  double theta = 10000;
  if (header.find(prefix + "freq_base") != nullptr) {
    ASSIGN_OR_RETURN(theta, written(header, prefix + "freq_base"));
  }
  out["rope_theta"] = theta;
  out["rope_scaling"] = nullptr;
  ASSIGN_OR_RETURN(const std::string type, header.string_or(prefix + "scaling.type", "none"));
  if (!factors.empty()) {
    ASSIGN_OR_RETURN(out["rope_scaling"],
                     llama3_scaling(factors, theta, out["head_dim"].get<int64_t>()));
    return {};
  }
  if (type == "none") return {};
  if (type != "linear" && type != "yarn") {
    return error(Code::Unimplemented, "{}scaling.type is '{}'; known are none, linear, yarn",
                 prefix, type);
  }
  ASSIGN_OR_RETURN(const double factor, written(header, prefix + "scaling.factor"));
  json scaling{{"rope_type", type}, {"factor", factor}};
  const std::string original = prefix + "scaling.original_context_length";
  if (type == "yarn" && header.find(original) != nullptr) {
    ASSIGN_OR_RETURN(scaling["original_max_position_embeddings"], header.integer(original));
  }
  out["rope_scaling"] = std::move(scaling);
  return {};
}

struct Sizes {
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
};

Status check_size(std::string_view what, int64_t value) {
  if (value > 0 && value <= int64_t{1} << 31) return {};
  return invalid_argument("{} is {}", what, value);
}

Result<Sizes> sizes(const GgufHeader& header, const std::string& arch, int64_t hidden) {
  const std::string prefix = arch + ".attention.";
  Sizes out{};
  ASSIGN_OR_RETURN(out.heads, header.integer(prefix + "head_count"));
  RETURN_IF_ERROR(check_size(prefix + "head_count", out.heads));
  ASSIGN_OR_RETURN(out.kv_heads, header.integer_or(prefix + "head_count_kv", out.heads));
  RETURN_IF_ERROR(check_size(prefix + "head_count_kv", out.kv_heads));
  int64_t head_dim = hidden / out.heads;
  if (arch == "llama") {
    ASSIGN_OR_RETURN(head_dim, header.integer_or(arch + ".rope.dimension_count", head_dim));
  }
  ASSIGN_OR_RETURN(out.head_dim, header.integer_or(prefix + "key_length", head_dim));
  RETURN_IF_ERROR(check_size(prefix + "key_length", out.head_dim));
  return out;
}

Result<json> gpt2_config(const GgufHeader& header, json out) {
  ASSIGN_OR_RETURN(out["n_layer"], header.integer("gpt2.block_count"));
  ASSIGN_OR_RETURN(out["n_head"], header.integer("gpt2.attention.head_count"));
  ASSIGN_OR_RETURN(out["n_embd"], header.integer("gpt2.embedding_length"));
  ASSIGN_OR_RETURN(out["n_positions"], header.integer("gpt2.context_length"));
  ASSIGN_OR_RETURN(out["n_inner"], header.integer("gpt2.feed_forward_length"));
  ASSIGN_OR_RETURN(out["layer_norm_epsilon"], written(header, "gpt2.attention.layer_norm_epsilon"));
  out["activation_function"] = "gelu_new";
  return out;
}

Status add_experts(const GgufHeader& header, const std::string& arch, json& out) {
  const std::string prefix = arch + ".";
  if (header.find(prefix + "expert_count") == nullptr) return {};
  ASSIGN_OR_RETURN(const int64_t experts, header.integer(prefix + "expert_count"));
  if (experts == 0) return {};
  RETURN_IF_ERROR(check_size(prefix + "expert_count", experts));
  ASSIGN_OR_RETURN(out["num_experts_per_tok"], header.integer(prefix + "expert_used_count"));
  if (arch == "llama") {
    out["architectures"] = json::array({"MixtralForCausalLM"});
    out["model_type"] = "mixtral";
    out["num_local_experts"] = experts;
    out.erase("attention_bias");
    out.erase("mlp_bias");
    return {};
  }
  out["num_experts"] = experts;
  ASSIGN_OR_RETURN(out["moe_intermediate_size"],
                   header.integer(prefix + "expert_feed_forward_length"));
  out["norm_topk_prob"] = true;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = json::array();
  return {};
}

}  // namespace

const std::vector<std::string>& gguf_architectures() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const Family& family : kFamilies) names.emplace_back(family.gguf);
    return names;
  }();
  return all;
}

Result<json> gguf_config(const GgufHeader& header, const std::vector<float>& rope_factors) {
  ASSIGN_OR_RETURN(const std::string arch, header.string("general.architecture"));
  const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                    [&](const Family& f) { return arch == f.gguf; });
  if (family == std::end(kFamilies)) {
    return error(Code::Unimplemented, "architecture '{}' is unknown; known are {}", arch,
                 fmt::join(gguf_architectures(), ", "));
  }
  const GgufTensor* embedding = find_tensor(header, "token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return invalid_argument("there is no matrix 'token_embd.weight'");
  }
  json out{{"architectures", json::array({family->architecture})},
           {"model_type", family->model_type},
           {"vocab_size", embedding->shape[0]},
           {"tie_word_embeddings", find_tensor(header, "output.weight") == nullptr},
           {"torch_dtype", "float32"},
           {"use_cache", true}};
  RETURN_IF_ERROR(add_token_ids(header, out));
  if (arch == "gpt2") return gpt2_config(header, std::move(out));

  const std::string prefix = arch + ".";
  ASSIGN_OR_RETURN(const int64_t hidden, header.integer(prefix + "embedding_length"));
  RETURN_IF_ERROR(check_size(prefix + "embedding_length", hidden));
  ASSIGN_OR_RETURN(const Sizes size, sizes(header, arch, hidden));
  out["hidden_size"] = hidden;
  out["num_attention_heads"] = size.heads;
  out["num_key_value_heads"] = size.kv_heads;
  out["head_dim"] = size.head_dim;
  out["hidden_act"] = "silu";
  ASSIGN_OR_RETURN(out["num_hidden_layers"], header.integer(prefix + "block_count"));
  RETURN_IF_ERROR(check_size(prefix + "block_count", out["num_hidden_layers"]));
  ASSIGN_OR_RETURN(out["intermediate_size"], header.integer(prefix + "feed_forward_length"));
  ASSIGN_OR_RETURN(out["max_position_embeddings"], header.integer(prefix + "context_length"));
  ASSIGN_OR_RETURN(out["rms_norm_eps"],
                   written(header, prefix + "attention.layer_norm_rms_epsilon"));
  RETURN_IF_ERROR(add_rope(header, arch, rope_factors, out));
  const std::string window = prefix + "attention.sliding_window";
  if (arch == "llama" && header.find(window) != nullptr) {
    ASSIGN_OR_RETURN(out["sliding_window"], header.integer(window));
    out["architectures"] = json::array({"MistralForCausalLM"});
    out["model_type"] = "mistral";
  } else if (arch == "llama") {
    out["attention_bias"] = find_tensor(header, "blk.0.attn_q.bias") != nullptr;
    out["mlp_bias"] = find_tensor(header, "blk.0.ffn_gate.bias") != nullptr;
  } else if (arch != "qwen2") {
    out["attention_bias"] = false;
  }
  if (arch == "gemma2") {
    out["hidden_act"] = out["hidden_activation"] = "gelu_pytorch_tanh";
    ASSIGN_OR_RETURN(out["sliding_window"], header.integer("gemma2.attention.sliding_window"));
    ASSIGN_OR_RETURN(out["attn_logit_softcapping"],
                     header.number_or("gemma2.attn_logit_softcapping", 50));
    ASSIGN_OR_RETURN(out["final_logit_softcapping"],
                     header.number_or("gemma2.final_logit_softcapping", 30));
    // Not in the file: all published sizes but the 27B scale by the head's width.
    const bool large = out["num_hidden_layers"] == 46;
    out["query_pre_attn_scalar"] = large ? hidden / size.heads : size.head_dim;
  }
  RETURN_IF_ERROR(add_experts(header, arch, out));
  return out;
}

Result<json> gguf_generation_config(const GgufHeader& header) {
  json out = json::object();
  RETURN_IF_ERROR(add_token_ids(header, out));
  // A model may end its turn with another token than its text.
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (header.find(key) == nullptr || !out.contains("eos_token_id")) continue;
    ASSIGN_OR_RETURN(const int64_t id, header.integer(key));
    json& eos = out["eos_token_id"];
    if (!eos.is_array()) eos = json::array({eos});
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
    if (eos.size() == 1) eos = json(eos[0]);
  }
  return out;
}

}  // namespace sluice
