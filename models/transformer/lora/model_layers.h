#pragma once
#include "models/transformer/lora/lora_targets.h"
#include "models/transformer/model.h"

#include <vector>

namespace sluice {

/// The linear layers of a model, its head last: what LoraSet and MergedLora take. They share the
/// model's tensors. The routers of mixtures of experts are not among them (PEFT adapts none).
[[nodiscard]] std::vector<LoraLayer> lora_layers(const Transformer& model);

}  // namespace sluice
