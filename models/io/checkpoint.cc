#include "models/io/checkpoint.h"

#include "models/io/checkpoint_formats.h"

#include <filesystem>

namespace sluice {

const CheckpointTensor* Checkpoint::find(const std::string& name) const noexcept {
  for (const auto& tensor : tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return error(Code::NotFound, "no model at '{}'", path);
  }
  if (std::filesystem::is_directory(path, ignored)) return internal::open_hf_folder(path);
  if (path.ends_with(".gguf")) return internal::open_gguf(path);
  return invalid_argument("'{}' is neither a folder with config.json nor a .gguf file", path);
}

}  // namespace sluice
