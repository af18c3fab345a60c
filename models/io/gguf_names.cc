#include "models/io/gguf_model.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <optional>

namespace sluice {
namespace {

using nlohmann::json;

/// GGUF name and Hugging Face name; both without number and suffix (.weight or .bias). '*' is the
/// layer's number, '#' the expert's.
struct NameRow {
  const char* gguf;
  const char* hf;
  GgufTransform transform = GgufTransform::None;
};

constexpr NameRow kLlamaRows[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.*.attn_norm", "model.layers.*.input_layernorm"},
    {"blk.*.ffn_norm", "model.layers.*.post_attention_layernorm"},
    {"blk.*.attn_q", "model.layers.*.self_attn.q_proj"},
    {"blk.*.attn_k", "model.layers.*.self_attn.k_proj"},
    {"blk.*.attn_v", "model.layers.*.self_attn.v_proj"},
    {"blk.*.attn_output", "model.layers.*.self_attn.o_proj"},
    {"blk.*.attn_q_norm", "model.layers.*.self_attn.q_norm"},
    {"blk.*.attn_k_norm", "model.layers.*.self_attn.k_norm"},
    {"blk.*.ffn_gate", "model.layers.*.mlp.gate_proj"},
    {"blk.*.ffn_up", "model.layers.*.mlp.up_proj"},
    {"blk.*.ffn_down", "model.layers.*.mlp.down_proj"},
};
constexpr NameRow kQwenExperts[] = {
    {"blk.*.ffn_gate_inp", "model.layers.*.mlp.gate"},
    {"blk.*.ffn_gate_exps", "model.layers.*.mlp.experts.#.gate_proj"},
    {"blk.*.ffn_up_exps", "model.layers.*.mlp.experts.#.up_proj"},
    {"blk.*.ffn_down_exps", "model.layers.*.mlp.experts.#.down_proj"},
};
constexpr NameRow kMixtralExperts[] = {
    {"blk.*.ffn_gate_inp", "model.layers.*.block_sparse_moe.gate"},
    {"blk.*.ffn_gate_exps", "model.layers.*.block_sparse_moe.experts.#.w1"},
    {"blk.*.ffn_up_exps", "model.layers.*.block_sparse_moe.experts.#.w3"},
    {"blk.*.ffn_down_exps", "model.layers.*.block_sparse_moe.experts.#.w2"},
};
constexpr NameRow kGemmaRows[] = {
    {"output_norm", "model.norm", GgufTransform::MinusOne},
    {"blk.*.attn_norm", "model.layers.*.input_layernorm", GgufTransform::MinusOne},
    {"blk.*.post_attention_norm", "model.layers.*.post_attention_layernorm",
     GgufTransform::MinusOne},
    {"blk.*.ffn_norm", "model.layers.*.pre_feedforward_layernorm", GgufTransform::MinusOne},
    {"blk.*.post_ffw_norm", "model.layers.*.post_feedforward_layernorm", GgufTransform::MinusOne},
};
constexpr NameRow kGpt2Rows[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.*.attn_norm", "transformer.h.*.ln_1"},
    {"blk.*.ffn_norm", "transformer.h.*.ln_2"},
    {"blk.*.attn_qkv", "transformer.h.*.attn.c_attn", GgufTransform::Transpose},
    {"blk.*.attn_output", "transformer.h.*.attn.c_proj", GgufTransform::Transpose},
    {"blk.*.ffn_up", "transformer.h.*.mlp.c_fc", GgufTransform::Transpose},
    {"blk.*.ffn_down", "transformer.h.*.mlp.c_proj", GgufTransform::Transpose},
};

/// Rows of an architecture; the first that matches counts.
std::vector<NameRow> rows_of(const std::string& architecture) {
  std::vector<NameRow> out;
  const auto add = [&](const auto& rows) {
    out.insert(out.end(), std::begin(rows), std::end(rows));
  };
  if (architecture == "gpt2") {
    add(kGpt2Rows);
    return out;
  }
  if (architecture == "gemma2") add(kGemmaRows);
  if (architecture == "qwen3moe") add(kQwenExperts);
  if (architecture == "llama") add(kMixtralExperts);
  add(kLlamaRows);
  return out;
}

/// What stood for '*' and '#' in a name that fits a pattern.
struct Match {
  std::string layer;
  std::string expert;
};

std::optional<Match> fits(std::string_view pattern, std::string_view text) {
  Match out;
  while (!pattern.empty()) {
    const char c = pattern.front();
    pattern.remove_prefix(1);
    if (c != '*' && c != '#') {
      if (text.empty() || text.front() != c) return std::nullopt;
      text.remove_prefix(1);
      continue;
    }
    std::string& number = c == '*' ? out.layer : out.expert;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      number += text.front();
      text.remove_prefix(1);
    }
    if (number.empty()) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

std::string filled(std::string_view pattern, const Match& match) {
  std::string out;
  for (const char c : pattern) {
    if (c == '*') {
      out += match.layer;
    } else if (c == '#') {
      out += match.expert;
    } else {
      out += c;
    }
  }
  return out;
}

/// Splits ".weight" or ".bias" off.
std::pair<std::string_view, std::string_view> stem_and_suffix(std::string_view name) {
  for (const std::string_view suffix : {std::string_view(".weight"), std::string_view(".bias")}) {
    if (name.ends_with(suffix)) return {name.substr(0, name.size() - suffix.size()), suffix};
  }
  return {name, ""};
}

Status set_transform(const GgufTransform transform, const std::string& arch, const json& config,
                     std::string_view stem, GgufSource& out) {
  out.transform = transform;
  if (transform == GgufTransform::Transpose) {
    if (out.shape.size() == 2) {
      std::swap(out.shape[0], out.shape[1]);
    } else {
      out.transform = GgufTransform::None;
    }
  }
  const bool q = stem.ends_with(".attn_q");
  if (arch != "llama" || (!q && !stem.ends_with(".attn_k"))) return {};
  out.transform = GgufTransform::UnpermuteHeads;
  const char* key =
      q || !config.contains("num_key_value_heads") ? "num_attention_heads" : "num_key_value_heads";
  const auto heads = config.find(key);
  if (heads == config.end() || !heads->is_number_integer() || heads->get<int64_t>() <= 0) {
    return invalid_argument("config.json: '{}' is not a positive whole number", key);
  }
  out.heads = heads->get<int64_t>();
  const int64_t rows = out.shape.empty() ? 0 : out.shape[0];
  if (rows % (2 * out.heads) != 0) {
    return invalid_argument("tensor '{}{}' has {} rows, which {} heads do not divide", stem,
                            out.shape.size() > 1 ? ".weight" : ".bias", rows, out.heads);
  }
  return {};
}

}  // namespace

Result<std::vector<GgufSource>> gguf_sources(const GgufHeader& header, const json& config) {
  ASSIGN_OR_RETURN(const std::string arch, header.string("general.architecture"));
  const auto rows = rows_of(arch);
  std::vector<GgufSource> out;
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    const GgufTensor& tensor = header.tensors[i];
    if (tensor.name == "rope_freqs.weight") continue;  // part of config.json
    const auto [stem, suffix] = stem_and_suffix(tensor.name);
    bool known = false;
    for (const NameRow& row : rows) {
      auto match = fits(row.gguf, stem);
      if (!match) continue;
      known = true;
      GgufSource source;
      source.tensor = i;
      source.shape = tensor.shape;
      const bool stacked = std::string_view(row.hf).find('#') != std::string_view::npos;
      if (!stacked) {
        source.name = filled(row.hf, *match) + std::string(suffix);
        RETURN_IF_ERROR(set_transform(row.transform, arch, config, stem, source));
        out.push_back(std::move(source));
        break;
      }
      if (tensor.shape.size() != 3) {
        return invalid_argument("tensor '{}' has {} dimensions, not 3", tensor.name,
                                tensor.shape.size());
      }
      constexpr int64_t kMaxExperts = 65536;
      if (tensor.shape[0] > kMaxExperts) {
        return invalid_argument("tensor '{}' stacks {} experts, more than {}", tensor.name,
                                tensor.shape[0], kMaxExperts);
      }
      source.shape.erase(source.shape.begin());
      for (int64_t expert = 0; expert < tensor.shape[0]; ++expert) {
        source.slice = expert;
        match->expert = std::to_string(expert);
        source.name = filled(row.hf, *match) + std::string(suffix);
        out.push_back(source);
      }
      break;
    }
    if (!known) {
      return error(Code::Unimplemented, "tensor '{}' is unknown in architecture '{}'", tensor.name,
                   arch);
    }
  }
  return out;
}

Result<GgufTarget> gguf_target(const std::string& architecture, const json& config,
                               const std::string& name, const std::vector<int64_t>& shape) {
  const auto [stem, suffix] = stem_and_suffix(name);
  for (const NameRow& row : rows_of(architecture)) {
    const auto match = fits(row.hf, stem);
    if (!match) continue;
    // The transformation is found as for reading, whose rules go by the GGUF name.
    GgufSource source;
    source.shape = shape;
    const std::string gguf_stem = filled(row.gguf, *match);
    RETURN_IF_ERROR(set_transform(row.transform, architecture, config, gguf_stem, source));
    GgufTarget out;
    out.name = gguf_stem + std::string(suffix);
    out.shape = source.shape;
    out.transform = source.transform;
    out.heads = source.heads;
    if (!match->expert.empty()) out.slice = std::atoll(match->expert.c_str());
    return out;
  }
  return error(Code::NotFound, "tensor '{}' has no place in a GGUF file of architecture '{}'", name,
               architecture);
}

}  // namespace sluice
