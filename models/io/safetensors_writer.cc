#include "models/io/safetensors_writer.h"

#include "dataflow/base/files.h"
#include "models/io/atomic_file.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sluice {
namespace {

using nlohmann::json;

uint64_t bytes_of(const TensorToWrite& tensor) {
  uint64_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= static_cast<uint64_t>(size);
  return elements * c10::elementSize(tensor.type);
}

/// Wider elements first, then by name.
std::vector<size_t> layout(const std::vector<TensorToWrite>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t i) {
      return std::pair(-static_cast<int64_t>(c10::elementSize(tensors[i].type)),
                       std::string_view(tensors[i].name));
    };
    return key(a) < key(b);
  });
  return order;
}

Status write_tensor(AtomicFile& file, const TensorToWrite& wanted, const at::Tensor& tensor) {
  if (tensor.scalar_type() != wanted.type || tensor.sizes() != at::IntArrayRef(wanted.shape)) {
    return invalid_argument("tensor '{}' is {} {}, not {} [{}] as announced", wanted.name,
                            c10::toString(tensor.scalar_type()),
                            fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")),
                            c10::toString(wanted.type), fmt::join(wanted.shape, ", "));
  }
  if (tensor.numel() == 0) return {};
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  return file.write({static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()});
}

Result<std::string> header_text(const std::vector<TensorToWrite>& tensors,
                                const std::vector<size_t>& order, const StringMap& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const size_t i : order) {
    const TensorToWrite& tensor = tensors[i];
    const auto type = stored_type(tensor.type);
    if (!type) {
      return error(Code::Unimplemented, "tensor '{}': safetensors has no type for {}", tensor.name,
                   c10::toString(tensor.type));
    }
    if (header.contains(tensor.name)) {
      return invalid_argument("two tensors are named '{}'", tensor.name);
    }
    const uint64_t bytes = bytes_of(tensor);
    header[tensor.name] = {{"dtype", std::string(name(*type))},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t kAlign = 64;
  text.append((kAlign - (8 + text.size()) % kAlign) % kAlign, ' ');
  return text;
}

}  // namespace

Status write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                         const TensorProducer& producer, const StringMap& metadata) {
  const auto order = layout(tensors);
  ASSIGN_OR_RETURN(const std::string header, header_text(tensors, order, metadata));
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  const uint64_t length = header.size();
  char prefix[8];
  std::memcpy(prefix, &length, sizeof(prefix));
  RETURN_IF_ERROR(file.write({prefix, sizeof(prefix)}));
  RETURN_IF_ERROR(file.write(header));
  for (const size_t i : order) {
    ASSIGN_OR_RETURN(const at::Tensor tensor, producer(i));
    RETURN_IF_ERROR(write_tensor(file, tensors[i], tensor));
  }
  return file.commit();
}

Status write_safetensors(const std::string& path,
                         const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                         const StringMap& metadata) {
  std::vector<TensorToWrite> list;
  for (const auto& [name, tensor] : tensors) {
    list.push_back({name, tensor.scalar_type(), tensor.sizes().vec()});
  }
  return write_safetensors(
      path, list, [&](size_t i) -> Result<at::Tensor> { return tensors[i].second; }, metadata);
}

Status write_safetensors_set(const std::string& folder, const std::vector<TensorToWrite>& tensors,
                             const TensorProducer& producer, uint64_t max_shard_bytes) {
  // Shards are filled in the order of the list, as the reference does.
  std::vector<std::vector<size_t>> shards(1);
  uint64_t filled = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const uint64_t bytes = bytes_of(tensors[i]);
    if (!shards.back().empty() && bytes > max_shard_bytes - std::min(filled, max_shard_bytes)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(i);
    filled += bytes;
    total += bytes;
  }
  if (shards.size() == 1) {
    return write_safetensors(folder + "/model.safetensors", tensors, producer);
  }
  json index{{"metadata", {{"total_size", total}}}, {"weight_map", json::object()}};
  for (size_t s = 0; s < shards.size(); ++s) {
    const std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", s + 1, shards.size());
    std::vector<TensorToWrite> part;
    for (const size_t i : shards[s]) {
      part.push_back(tensors[i]);
      index["weight_map"][tensors[i].name] = file;
    }
    RETURN_IF_ERROR(write_safetensors(folder + "/" + file, part,
                                      [&](size_t i) { return producer(shards[s][i]); }));
  }
  return write_file_atomic(folder + "/model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace sluice
