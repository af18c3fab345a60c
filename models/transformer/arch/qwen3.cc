// Qwen3: RMSNorm over each head of q and k, an explicit head_dim, no biases unless asked for.
#include "models/transformer/arch/arch.h"
#include "models/transformer/arch/qwen.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 32768;
  otherwise.kv_heads = 32;
  otherwise.head_dim = 128;
  TransformerConfig c = read_common(hf, otherwise);
  c.qk_norm = true;
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  read_qwen_windows(hf, c);
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["attention_bias"] = c.qkv_bias;
  write_qwen_windows(c, out);
  return out;
}

}  // namespace

const Architecture& qwen3() {
  static const Architecture it = {"qwen3",
                                  "qwen3",
                                  "Qwen3ForCausalLM",
                                  "Qwen3ForSequenceClassification",
                                  "Qwen3Model",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
