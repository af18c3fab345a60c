// Gemma 2 (arXiv 2408.00118): norms on both sides, soft caps, every other layer slides.
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 8192;
  otherwise.kv_heads = 4;
  otherwise.head_dim = 256;
  otherwise.tied_head = true;
  TransformerConfig c = read_common(hf, otherwise);
  c.activation = hf.has("hidden_activation") || !hf.has("hidden_act")
                     ? hf.activation("hidden_activation", "gelu_pytorch_tanh")
                     : MlpActivation::GeluTanh;
  c.norm_unit_offset = true;
  c.post_norms = true;
  c.embedding_scale = std::sqrt(static_cast<double>(c.hidden_size));
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  const double scalar = hf.number("query_pre_attn_scalar", 256);
  if (!(scalar > 0 && scalar <= 1e9 && scalar == std::floor(scalar))) {
    hf.complain(fmt::format("key 'query_pre_attn_scalar' is {}", scalar));
  }
  c.attention_scale = 1 / std::sqrt(scalar);
  // An absent cap is the published models', null is none.
  c.attention_softcap =
      hf.number("attn_logit_softcapping", hf.absent("attn_logit_softcapping") ? 50 : 0);
  c.logit_softcap =
      hf.number("final_logit_softcapping", hf.absent("final_logit_softcapping") ? 30 : 0);
  if (!(c.attention_softcap >= 0) || !(c.logit_softcap >= 0)) {
    hf.complain("a softcap is negative");
  }
  if (hf.flag("use_bidirectional_attention", false)) {
    hf.complain("key 'use_bidirectional_attention': only causal attention is supported");
  }
  const int64_t window = hf.integer("sliding_window", 4096);
  for (size_t i = 0; i < c.layers.size(); i += 2) c.layers[i].window = window;
  read_layer_types(hf, window, c);
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out.erase("hidden_act");
  out["hidden_activation"] =
      c.activation == MlpActivation::GeluTanh ? "gelu_pytorch_tanh" : hf_activation(c.activation);
  out["attention_bias"] = c.qkv_bias;
  // The config's number is an integer there.
  out["query_pre_attn_scalar"] = std::llround(1 / (c.attention_scale * c.attention_scale));
  out["attn_logit_softcapping"] = nullptr;
  if (c.attention_softcap > 0) out["attn_logit_softcapping"] = c.attention_softcap;
  out["final_logit_softcapping"] = nullptr;
  if (c.logit_softcap > 0) out["final_logit_softcapping"] = c.logit_softcap;
  int64_t window = 0;
  for (const LayerConfig& layer : c.layers) window = std::max(window, layer.window);
  if (window > 0) out["sliding_window"] = window;
  out["layer_types"] = write_layer_types(c);
  return out;
}

}  // namespace

const Architecture& gemma2() {
  static const Architecture it = {"gemma2",
                                  "gemma2",
                                  "Gemma2ForCausalLM",
                                  "Gemma2ForSequenceClassification",
                                  "Gemma2Model",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
