#pragma once
#include "models/io/gguf.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What GGUF files of one architecture do to a weight, undone on reading.
enum class GgufTransform : uint8_t {
  None,
  UnpermuteHeads,  ///< rows of q and k lie in interleaved pairs: [heads, d/2, 2] -> [heads, 2, d/2]
  Transpose,       ///< [out, in] -> [in, out], as GPT-2's Conv1D has it
  MinusOne,        ///< Gemma's norm weights have 1 added
};

/// One Hugging Face tensor and where it comes from.
struct GgufSource {
  std::string name;            ///< Hugging Face name
  std::vector<int64_t> shape;  ///< as Hugging Face has it
  size_t tensor = 0;           ///< index in GgufHeader::tensors
  int64_t slice = -1;          ///< expert of a stacked tensor, or -1 for the whole
  GgufTransform transform = GgufTransform::None;
  int64_t heads = 0;  ///< of UnpermuteHeads
};

/// Architectures that are understood, as `general.architecture` names them.
[[nodiscard]] const std::vector<std::string>& gguf_architectures();

/// config.json in Hugging Face form. `rope_factors` is the content of the tensor rope_freqs.weight,
/// or empty. Unimplemented for an unknown architecture or rope type, with the list of known ones.
Result<nlohmann::json> gguf_config(const GgufHeader& header,
                                   const std::vector<float>& rope_factors);
/// generation_config.json in Hugging Face form.
Result<nlohmann::json> gguf_generation_config(const GgufHeader& header);

/// The Hugging Face tensors of a file whose config.json is `config`, in the order of the file. A
/// tensor whose name is not known is an error.
Result<std::vector<GgufSource>> gguf_sources(const GgufHeader& header,
                                             const nlohmann::json& config);

/// Where a Hugging Face tensor goes in a GGUF file: the reverse of GgufSource.
struct GgufTarget {
  std::string name;
  std::vector<int64_t> shape;                     ///< of this tensor, or of one expert
  GgufTransform transform = GgufTransform::None;  ///< to be done, not undone
  int64_t heads = 0;
  int64_t slice = -1;  ///< expert, when GGUF stacks them
};
/// NotFound when the architecture has no such tensor.
Result<GgufTarget> gguf_target(const std::string& architecture, const nlohmann::json& config,
                               const std::string& name, const std::vector<int64_t>& shape);

/// tokenizer.json in Hugging Face form, from the tokenizer.ggml keys: byte-level BPE (`gpt2`) with
/// the pre-tokenizers gpt-2, smollm (and its equals), llama-bpe and qwen2; SentencePiece BPE
/// (`llama`).
Result<nlohmann::json> gguf_tokenizer(const GgufHeader& header);
/// tokenizer_config.json in Hugging Face form, with the chat template.
Result<nlohmann::json> gguf_tokenizer_config(const GgufHeader& header);

}  // namespace sluice
