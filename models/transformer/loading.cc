#include "models/transformer/loading.h"

#include "models/io/checkpoint.h"
#include "models/transformer/architecture.h"

#include <nlohmann/json.hpp>

namespace sluice {

TensorReader reader_of(const Checkpoint& checkpoint, at::ScalarType dtype) {
  TensorReader reader;
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    reader.tensors.push_back({t.name, t.shape});
  }
  reader.read = [&checkpoint, dtype](const std::string& name) {
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
