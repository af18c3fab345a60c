#pragma once
#include "models/transformer/lora/lora.h"

#include <string>

namespace sluice {

/// Reads the adapters of a PEFT folder (adapter_config.json, adapter_model.safetensors) for a model
/// with these layers. Errors name the file, and the key or tensor.
Result<LoraSet> read_peft(const std::string& folder, std::span<const LoraLayer> layers,
                          at::ScalarType dtype = at::kFloat);

/// Writes a folder that PEFT loads onto the same base model. Tensors are stored in their own dtype.
/// Made when it does not exist; the config is written last, so that a crash leaves no folder that
/// looks whole but is not.
Status write_peft(const std::string& folder, const LoraSet& lora);

}  // namespace sluice
