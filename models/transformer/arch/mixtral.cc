// Mixtral: experts in every layer, stored under older names (w1 gate, w2 down, w3 up).
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 4096 * 32;
  otherwise.kv_heads = 8;
  otherwise.norm_eps = 1e-5;
  otherwise.rope.theta = 1e6;
  TransformerConfig c = read_common(hf, otherwise);
  const int64_t window = hf.integer("sliding_window", 0);
  c.experts.count = hf.integer("num_local_experts", 8);
  c.experts.per_token = hf.integer("num_experts_per_tok", 2);
  c.experts.intermediate_size = c.intermediate_size;
  for (LayerConfig& layer : c.layers) {
    layer.window = window;
    layer.experts = true;
  }
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["num_local_experts"] = c.experts.count;
  out["num_experts_per_tok"] = c.experts.per_token;
  out["sliding_window"] = nullptr;
  if (c.layers.front().window > 0) out["sliding_window"] = c.layers.front().window;
  return out;
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

TensorSource source(const TransformerConfig& /*config*/, const std::string& parameter) {
  TensorSource s{parameter};
  replace(s.tensor, ".mlp.", ".block_sparse_moe.");
  replace(s.tensor, ".gate_proj.", ".w1.");
  replace(s.tensor, ".down_proj.", ".w2.");
  replace(s.tensor, ".up_proj.", ".w3.");
  return s;
}

}  // namespace

const Architecture& mixtral() {
  static const Architecture it = {"mixtral",
                                  "mixtral",
                                  "MixtralForCausalLM",
                                  "MixtralForSequenceClassification",
                                  "MixtralModel",
                                  "model.",
                                  read,
                                  write,
                                  source};
  return it;
}

}  // namespace sluice::arch
