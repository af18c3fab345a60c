#pragma once
#include "dataflow/base/result.h"
#include "models/io/stored_scalar.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// A tensor that is to be written. Its bytes are asked for when its turn comes, so that a model
/// larger than memory can be written.
struct TensorToWrite {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;
};

/// Gives tensor `index` of a list; it must have the type and shape that the list says.
using TensorProducer = std::function<Result<at::Tensor>(size_t index)>;

using StringMap = std::map<std::string, std::string>;

/// Writes one safetensors file, atomically. Data begins at a multiple of 64 bytes and wider types
/// come first, so that every tensor is aligned for its elements; ties are in the order of names.
Status write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                         const TensorProducer& producer,
                         const StringMap& metadata = {{"format", "pt"}});
/// The same for tensors at hand.
Status write_safetensors(const std::string& path,
                         const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                         const StringMap& metadata = {{"format", "pt"}});

/// Writes the weights of a folder: model.safetensors when all fit into `max_shard_bytes`, else
/// model-00001-of-0000N.safetensors with model.safetensors.index.json. A tensor is never split.
Status write_safetensors_set(const std::string& folder, const std::vector<TensorToWrite>& tensors,
                             const TensorProducer& producer, uint64_t max_shard_bytes);

}  // namespace sluice
