// Qwen3-MoE: Qwen3 whose layers have experts, except those that the config keeps dense.
#include "models/transformer/arch/arch.h"
#include "models/transformer/arch/qwen.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::arch {

void read_qwen_experts(HfConfig& hf, bool normalise_otherwise, TransformerConfig& c) {
  c.experts.count = hf.has("num_local_experts") && !hf.has("num_experts")
                        ? hf.integer("num_local_experts")
                        : hf.integer("num_experts");
  if (c.experts.count == 0) return;
  c.experts.per_token = hf.integer("num_experts_per_tok");
  c.experts.intermediate_size = hf.integer("moe_intermediate_size");
  c.experts.normalise_topk = hf.flag("norm_topk_prob", normalise_otherwise);
  const int64_t step = hf.integer("decoder_sparse_step", 1);
  if (step < 1) hf.complain(fmt::format("key 'decoder_sparse_step' is {}", step));
  const auto dense = hf.integers("mlp_only_layers");
  for (int64_t i = 0; step > 0 && i < static_cast<int64_t>(c.layers.size()); ++i) {
    const bool kept = std::find(dense.begin(), dense.end(), i) != dense.end();
    c.layers[static_cast<size_t>(i)].experts = !kept && (i + 1) % step == 0;
  }
}

void write_qwen_experts(const TransformerConfig& c, nlohmann::json& out) {
  out["num_experts"] = c.experts.count;
  if (c.experts.count == 0) return;
  out["num_experts_per_tok"] = c.experts.per_token;
  out["moe_intermediate_size"] = c.experts.intermediate_size;
  out["norm_topk_prob"] = c.experts.normalise_topk;
  out["decoder_sparse_step"] = 1;
  auto& dense = out["mlp_only_layers"] = nlohmann::json::array();
  for (size_t i = 0; i < c.layers.size(); ++i) {
    if (!c.layers[i].experts) dense.push_back(i);
  }
}

namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 32768;
  otherwise.kv_heads = 4;
  TransformerConfig c = read_common(hf, otherwise);
  c.qk_norm = true;
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  if (hf.flag("use_sliding_window", false)) {
    const int64_t window = hf.integer("sliding_window", 4096);
    for (LayerConfig& layer : c.layers) layer.window = window;
  }
  read_qwen_experts(hf, false, c);
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["attention_bias"] = c.qkv_bias;
  const int64_t window = c.layers.front().window;
  out["use_sliding_window"] = window > 0;
  if (window > 0) out["sliding_window"] = window;
  write_qwen_experts(c, out);
  return out;
}

}  // namespace

const Architecture& qwen3_moe() {
  static const Architecture it = {"qwen3_moe",
                                  "qwen3_moe",
                                  "Qwen3MoeForCausalLM",
                                  "Qwen3MoeForSequenceClassification",
                                  "Qwen3MoeModel",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
