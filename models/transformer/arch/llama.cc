// Llama 1 to 3.x and what uses its classes: SmolLM2, TinyLlama, Vicuna.
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 2048;
  TransformerConfig c = read_common(hf, otherwise);
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  c.mlp_bias = hf.flag("mlp_bias", false);
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["attention_bias"] = c.qkv_bias;
  out["mlp_bias"] = c.mlp_bias;
  return out;
}

}  // namespace

const Architecture& llama() {
  static const Architecture it = {"llama",
                                  "llama",
                                  "LlamaForCausalLM",
                                  "LlamaForSequenceClassification",
                                  "LlamaModel",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
