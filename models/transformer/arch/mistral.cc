// Mistral 7B and Nemo: every layer slides where the config names a window.
#include "models/transformer/arch/arch.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 4096 * 32;
  otherwise.kv_heads = 8;
  TransformerConfig c = read_common(hf, otherwise);
  // As in transformers: an absent key means 4096, null means no window.
  const int64_t window = hf.integer("sliding_window", hf.absent("sliding_window") ? 4096 : 0);
  for (LayerConfig& layer : c.layers) layer.window = window;
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["sliding_window"] = nullptr;
  if (c.layers.front().window > 0) out["sliding_window"] = c.layers.front().window;
  return out;
}

}  // namespace

const Architecture& mistral() {
  static const Architecture it = {"mistral",
                                  "mistral",
                                  "MistralForCausalLM",
                                  "MistralForSequenceClassification",
                                  "MistralModel",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
