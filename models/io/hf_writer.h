#pragma once
#include "models/io/checkpoint.h"
#include "models/io/safetensors_writer.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

constexpr uint64_t kDefaultShardBytes = 5'000'000'000;

/// What a Hugging Face folder holds. Null pointers leave their file out.
struct HfFolderContent {
  const nlohmann::json* config = nullptr;  ///< needed
  const nlohmann::json* generation_config = nullptr;
  const nlohmann::json* tokenizer_json = nullptr;
  const nlohmann::json* tokenizer_config =
      nullptr;  ///< a "chat_template" becomes a file of its own
  std::vector<TensorToWrite> tensors;
  TensorProducer producer;
  uint64_t max_shard_bytes = kDefaultShardBytes;
};

/// Writes a folder that `transformers` loads: config.json, generation_config.json, weights (in
/// shards when they are larger than a shard), tokenizer.json, tokenizer_config.json,
/// special_tokens_map.json, chat_template.jinja. The folder appears whole or not at all;
/// AlreadyExists when something is there.
Status write_hf_folder(const std::string& path, const HfFolderContent& content);

/// Unimplemented for a model whose config.json has a quantization_config.
Status refuse_quantized(const Checkpoint& from);

/// Writes a checkpoint of any format as a Hugging Face folder. Floats become `type`; without it
/// plain floats stay as they are stored and blocks become bf16. Other tensors stay as they are.
/// A model with a quantization_config can be written as it is and is refused with a `type`.
/// `values` gives other values for the tensors that it has (of their shapes; undefined: as stored).
Status convert_to_hf(const Checkpoint& from, const std::string& path,
                     std::optional<at::ScalarType> type,
                     uint64_t max_shard_bytes = kDefaultShardBytes,
                     const std::function<at::Tensor(const std::string& name)>& values = {});

}  // namespace sluice
