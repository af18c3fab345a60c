#pragma once
#include "models/io/checkpoint.h"
#include "models/io/gguf.h"
#include "models/io/safetensors_writer.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sluice {

using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

/// A tensor that is to be written; its floats are asked for when its turn comes.
struct GgufTensorToWrite {
  std::string name;
  StoredType type = StoredType::F32;  ///< F32, F16, BF16 or Q8_0
  std::vector<int64_t> shape;         ///< rows first
};

/// Writes a GGUF file of version 3, atomically. AlreadyExists when something is there;
/// Unimplemented for another type; InvalidArgument when the rows of a Q8_0 tensor are no multiple
/// of 32.
Status write_gguf(const std::string& path, const GgufMetadata& metadata,
                  const std::vector<GgufTensorToWrite>& tensors, const TensorProducer& producer);

/// Writes a checkpoint as one GGUF file. Vectors stay floats; matrices become `type`, or F16 where
/// their rows do not fill the blocks of Q8_0. Architectures: llama, mistral, mixtral, qwen2, qwen3,
/// qwen3_moe, gemma2, gpt2.
Status convert_to_gguf(const Checkpoint& from, const std::string& path, StoredType type);

/// Packs `blocks` blocks of 32 floats as Q8_0, rounding as ggml's reference does.
void quantize_q8_0(const float* in, int64_t blocks, uint8_t* out);

namespace internal {
/// Metadata that llama.cpp reads: sizes from config.json, tokenizer from tokenizer.json.
Result<GgufMetadata> gguf_metadata(const Checkpoint& from, const std::string& architecture);
Status add_gguf_tokenizer(const nlohmann::json& tokenizer, const nlohmann::json& config,
                          const nlohmann::json& model_config, GgufMetadata& out);
/// Factors of Llama 3's rope scaling, or nothing when config.json has none.
std::vector<float> llama3_rope_factors(const nlohmann::json& config);
/// Unimplemented, with the key, when what a GGUF file keeps of `config` would be read back as
/// another model.
Status check_gguf_config(const nlohmann::json& config, const GgufMetadata& metadata,
                         const std::vector<GgufTensorToWrite>& tensors);
/// `general.architecture` of a model_type; Unimplemented names the known ones.
Result<std::string> gguf_architecture_of(const nlohmann::json& config);

GgufValue gguf_u32(int64_t value);
GgufValue gguf_f32(double value);
GgufValue gguf_bool(bool value);
GgufValue gguf_string(std::string value);
}  // namespace internal

}  // namespace sluice
