#include "models/transformer/loading.h"

#include "models/io/checkpoint.h"
#include "models/transformer/architecture.h"

#include <nlohmann/json.hpp>

#include <unordered_map>

namespace sluice {

TensorReader reader_of(const Checkpoint& checkpoint, at::ScalarType dtype) {
  TensorReader reader;
  // Masks and the like are integers; they are listed, and refused only as weights.
  std::unordered_map<std::string, std::string_view> other;
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    reader.tensors.push_back({t.name, t.shape});
    if (!is_float(t.type)) other.emplace(t.name, name(t.type));
  }
  reader.read = [&checkpoint, dtype,
                 other = std::move(other)](const std::string& name) -> Result<at::Tensor> {
    if (const auto at = other.find(name); at != other.end()) {
      return invalid_argument(
          "tensor '{}' is {} in the checkpoint, the config implies floating-point numbers", name,
          at->second);
    }
    return checkpoint.read_copy(name, dtype);
  };
  return reader;
}

Result<Transformer> load_transformer(const Checkpoint& checkpoint, at::ScalarType dtype) {
  auto config = read_hf_config(checkpoint.config());
  if (!config.ok()) return config.status().with_context(checkpoint.path());
  auto parameters = load_parameters(*config, reader_of(checkpoint, dtype), dtype);
  if (!parameters.ok()) return parameters.status().with_context(checkpoint.path());
  return Transformer(*std::move(config), *std::move(parameters));
}

}  // namespace sluice
