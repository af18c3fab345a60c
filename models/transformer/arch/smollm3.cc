// SmolLM3: some layers know no positions.
#include "models/transformer/arch/arch.h"
#include "models/transformer/arch/qwen.h"
#include "models/transformer/hf_config.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::arch {
namespace {

TransformerConfig read(HfConfig& hf) {
  TransformerConfig otherwise;
  otherwise.max_positions = 32768;
  otherwise.kv_heads = 4;
  otherwise.rope.theta = 2e6;
  otherwise.tied_head = true;
  TransformerConfig c = read_common(hf, otherwise);
  c.qkv_bias = c.output_bias = hf.flag("attention_bias", false);
  c.mlp_bias = hf.flag("mlp_bias", false);
  const auto rotated = hf.integers("no_rope_layers");  // 1 at a layer that has them
  const int64_t interval = hf.integer("no_rope_layer_interval", 4);
  if (interval < 1) hf.complain(fmt::format("key 'no_rope_layer_interval' is {}", interval));
  if (!rotated.empty() && rotated.size() < c.layers.size()) {
    hf.complain(fmt::format("key 'no_rope_layers' has {} entries for {} layers", rotated.size(),
                            c.layers.size()));
  }
  if (!hf.status().ok()) return c;
  for (size_t i = 0; i < c.layers.size(); ++i) {
    c.layers[i].rope =
        rotated.empty() ? (static_cast<int64_t>(i) + 1) % interval != 0 : rotated[i] != 0;
  }
  if (hf.flag("use_sliding_window", false) && hf.has("sliding_window")) {
    const int64_t window = hf.integer("sliding_window");
    for (LayerConfig& layer : c.layers) layer.window = layer.rope ? 0 : window;
    read_layer_types(hf, window, c);
  }
  return c;
}

nlohmann::json write(const TransformerConfig& c) {
  nlohmann::json out = write_common(c);
  out["attention_bias"] = c.qkv_bias;
  out["mlp_bias"] = c.mlp_bias;
  auto& rotated = out["no_rope_layers"] = nlohmann::json::array();
  for (const LayerConfig& layer : c.layers) rotated.push_back(layer.rope ? 1 : 0);
  write_qwen_windows(c, out);
  return out;
}

}  // namespace

const Architecture& smollm3() {
  static const Architecture it = {"smollm3",
                                  "smollm3",
                                  "SmolLM3ForCausalLM",
                                  "SmolLM3ForSequenceClassification",
                                  "SmolLM3Model",
                                  "model.",
                                  read,
                                  write,
                                  nullptr};
  return it;
}

}  // namespace sluice::arch
