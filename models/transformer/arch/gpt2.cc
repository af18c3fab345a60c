// GPT-2: LayerNorm, learned positions, one c_attn for q, k and v, weights stored [in, out].
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig c;
  c.vocab_size = hf.integer("vocab_size");
  c.hidden_size = hf.integer("n_embd");
  // Larger ones are refused by check(); four times those would not fit into 64 bits.
  c.intermediate_size =
      hf.integer("n_inner", 4 * std::clamp<int64_t>(c.hidden_size, 0, int64_t{1} << 32));
  c.heads = c.kv_heads = hf.integer("n_head");
  c.max_positions = hf.integer("n_positions", 1024);
  const int64_t layers = hf.integer("n_layer");
  if (c.heads > 0 && c.hidden_size % c.heads != 0) {
    hf.complain(fmt::format("n_head {} does not divide n_embd {}", c.heads, c.hidden_size));
  }
  if (layers < 1 || layers > (1 << 14)) hf.complain(fmt::format("key 'n_layer' is {}", layers));
  if (!hf.status().ok() || c.heads < 1) return c;
  c.head_dim = c.hidden_size / c.heads;
  c.layers.assign(static_cast<size_t>(layers), LayerConfig{});
  for (LayerConfig& layer : c.layers) layer.rope = false;
  c.norm = NormKind::Layer;
  c.norm_eps = hf.number("layer_norm_epsilon", 1e-5);
  c.learned_positions = true;
  c.qkv_bias = c.output_bias = c.mlp_bias = true;
  c.gated_mlp = false;
  c.activation = hf.activation("activation_function", "gelu_new");
  c.attention_scale =
      hf.flag("scale_attn_weights", true) ? 1 / std::sqrt(static_cast<double>(c.head_dim)) : 1;
  c.scale_by_layer = hf.flag("scale_attn_by_inverse_layer_idx", false);
  c.tied_head = hf.flag("tie_word_embeddings", true);
  c.initializer_range = hf.number("initializer_range", 0.02);
  if (hf.flag("add_cross_attention", false)) {
    hf.complain("key 'add_cross_attention': cross attention is not supported");
  }
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  return {{"vocab_size", c.vocab_size},
          {"n_embd", c.hidden_size},
          {"n_inner", c.intermediate_size},
          {"n_head", c.heads},
          {"n_layer", c.layers.size()},
          {"n_positions", c.max_positions},
          {"layer_norm_epsilon", c.norm_eps},
          {"activation_function",
           c.activation == MlpActivation::GeluTanh ? "gelu_new" : hf_activation(c.activation)},
          {"scale_attn_weights", c.attention_scale != 1},
          {"scale_attn_by_inverse_layer_idx", c.scale_by_layer},
          {"tie_word_embeddings", c.tied_head},
          {"initializer_range", c.initializer_range}};
}

struct Renamed {
  std::string_view ours;
  std::string_view theirs;
  bool linear;
  int64_t part = -1;  ///< of c_attn's three
};
constexpr std::array<Renamed, 8> kInLayer = {{{"input_layernorm", "ln_1", false},
                                              {"post_attention_layernorm", "ln_2", false},
                                              {"self_attn.q_proj", "attn.c_attn", true, 0},
                                              {"self_attn.k_proj", "attn.c_attn", true, 1},
                                              {"self_attn.v_proj", "attn.c_attn", true, 2},
                                              {"self_attn.o_proj", "attn.c_proj", true},
                                              {"mlp.up_proj", "mlp.c_fc", true},
                                              {"mlp.down_proj", "mlp.c_proj", true}}};

TensorSource source(const TransformerConfig& c, const std::string& parameter) {
  static constexpr std::string_view kLayers = "model.layers.";
  if (parameter == "model.embed_tokens.weight") return {"transformer.wte.weight"};
  if (parameter == "model.embed_positions.weight") return {"transformer.wpe.weight"};
  if (parameter.starts_with("model.norm.")) return {"transformer.ln_f." + parameter.substr(11)};
  if (!parameter.starts_with(kLayers)) return {parameter};
  const size_t dot = parameter.find('.', kLayers.size());
  const std::string layer = parameter.substr(kLayers.size(), dot - kLayers.size());
  const size_t last = parameter.rfind('.');
  const std::string module = parameter.substr(dot + 1, last - dot - 1);
  const std::string leaf = parameter.substr(last + 1);
  for (const Renamed& r : kInLayer) {
    if (module != r.ours) continue;
    TensorSource s{fmt::format("transformer.h.{}.{}.{}", layer, r.theirs, leaf)};
    s.transposed = r.linear && leaf == "weight";
    if (r.part >= 0) {
      s.offset = r.part * c.hidden_size;
      s.rows = 3 * c.hidden_size;
    }
    return s;
  }
  return {parameter};
}

}  // namespace

const Architecture& gpt2() {
  static const Architecture it = {"gpt2",
                                  "gpt2",
                                  "GPT2LMHeadModel",
                                  "GPT2ForSequenceClassification",
                                  "GPT2Model",
                                  "transformer.",
                                  read,
                                  write,
                                  source};
  return it;
}

}  // namespace sluice::arch
