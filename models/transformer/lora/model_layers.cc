#include "models/transformer/lora/model_layers.h"

namespace sluice {
namespace {
constexpr const char* kWeight = ".weight";

bool linear_layer(const Parameters::Entry& entry, const Transformer& model) {
  const std::string& name = entry.name;
  return entry.tensor.dim() == 2 && name.starts_with("model.layers.") && name.ends_with(kWeight) &&
         !(model.config().experts.count > 0 && name.ends_with(".mlp.gate.weight"));
}
}  // namespace

std::vector<LoraLayer> lora_layers(const Transformer& model) {
  std::vector<LoraLayer> out;
  const Parameters& parameters = model.parameters();
  for (const Parameters::Entry& entry : parameters.entries()) {
    if (!linear_layer(entry, model)) continue;
    const std::string module =
        entry.name.substr(0, entry.name.size() - std::char_traits<char>::length(kWeight));
    out.push_back({{module, entry.tensor, parameters.get(module + ".bias")}});
  }
  out.push_back(
      {model.head(), true, model.config().head == HeadKind::Language && model.config().tied_head});
  return out;
}

}  // namespace sluice
