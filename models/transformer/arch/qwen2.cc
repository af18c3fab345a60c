// Qwen2 and Qwen2.5: biases on q, k and v, always.
#include "models/transformer/arch/arch.h"
#include "models/transformer/arch/qwen.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::arch {

void read_qwen_windows(HfConfig& hf, TransformerConfig& c) {
  if (!hf.flag("use_sliding_window", false)) return;
  const int64_t window = hf.integer("sliding_window", 4096);
  const int64_t first = hf.integer("max_window_layers", 28);
  for (size_t i = 0; i < c.layers.size(); ++i) {
    if (static_cast<int64_t>(i) >= first) c.layers[i].window = window;
  }
  read_layer_types(hf, window, c);
}

void write_qwen_windows(const TransformerConfig& c, nlohmann::json& out) {
  int64_t window = 0;
  for (const LayerConfig& layer : c.layers) window = std::max(window, layer.window);
  out["use_sliding_window"] = window > 0;
  if (window == 0) return;
  out["sliding_window"] = window;
  out["layer_types"] = write_layer_types(c);
}

namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 32768;
  otherwise.kv_heads = 32;
  TransformerConfig c = read_common(hf, otherwise);
  c.qkv_bias = true;
  read_qwen_windows(hf, c);
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  write_qwen_windows(c, out);
  return out;
}

}  // namespace

const Architecture& qwen2() {
  static const Architecture it = {"qwen2",
                                  "qwen2",
                                  "Qwen2ForCausalLM",
                                  "Qwen2ForSequenceClassification",
                                  "Qwen2Model",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
