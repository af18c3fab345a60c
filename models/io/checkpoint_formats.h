#pragma once
#include "models/io/checkpoint.h"

namespace sluice::internal {

/// A folder with config.json and model.safetensors, or its shards and their index.
Result<std::unique_ptr<Checkpoint>> open_hf_folder(const std::string& path);
/// A .gguf file.
Result<std::unique_ptr<Checkpoint>> open_gguf(const std::string& path);

/// The failure to find a tensor, with the nearest names.
Status no_such_tensor(const Checkpoint& checkpoint, const std::string& name);

}  // namespace sluice::internal
