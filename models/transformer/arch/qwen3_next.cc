// Qwen3-Next: three layers of gated delta rule to one of gated attention, all with experts and a
// shared expert; a quarter of each head is rotated; norms multiply by 1 + weight.
#include "models/transformer/arch/arch.h"
#include "models/transformer/arch/qwen.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 32768;
  otherwise.kv_heads = 2;
  otherwise.head_dim = 256;
  otherwise.rope.partial_rotary_factor = 0.25;
  TransformerConfig c = read_common(hf, otherwise);
  c.qk_norm = true;
  c.norm_unit_offset = true;
  c.attention_gate = true;
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  c.gated_delta.key_heads = hf.integer("linear_num_key_heads", 16);
  c.gated_delta.value_heads = hf.integer("linear_num_value_heads", 32);
  c.gated_delta.key_dim = hf.integer("linear_key_head_dim", 128);
  c.gated_delta.value_dim = hf.integer("linear_value_head_dim", 128);
  c.gated_delta.conv_kernel = hf.integer("linear_conv_kernel_dim", 4);
  const int64_t interval = hf.integer("full_attention_interval", 4);
  if (interval < 1) hf.complain(fmt::format("key 'full_attention_interval' is {}", interval));
  for (size_t i = 0; interval > 0 && i < c.layers.size(); ++i) {
    if ((static_cast<int64_t>(i) + 1) % interval != 0) c.layers[i].mixer = MixerKind::GatedDelta;
  }
  read_layer_types(hf, 0, c);
  read_qwen_experts(hf, true, c);
  if (c.experts.count > 0) {
    c.experts.shared_intermediate_size = hf.integer("shared_expert_intermediate_size", 512);
  }
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["attention_bias"] = c.qkv_bias;
  out["partial_rotary_factor"] = c.rope.partial_rotary_factor;  // absent means a quarter
  out["linear_num_key_heads"] = c.gated_delta.key_heads;
  out["linear_num_value_heads"] = c.gated_delta.value_heads;
  out["linear_key_head_dim"] = c.gated_delta.key_dim;
  out["linear_value_head_dim"] = c.gated_delta.value_dim;
  out["linear_conv_kernel_dim"] = c.gated_delta.conv_kernel;
  out["layer_types"] = write_layer_types(c);
  write_qwen_experts(c, out);
  if (c.experts.count > 0) {
    out["shared_expert_intermediate_size"] = c.experts.shared_intermediate_size;
  }
  return out;
}

}  // namespace

const Architecture& qwen3_next() {
  static const Architecture it = {"qwen3_next",
                                  "qwen3_next",
                                  "Qwen3NextForCausalLM",
                                  "Qwen3NextForSequenceClassification",
                                  "Qwen3NextModel",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
