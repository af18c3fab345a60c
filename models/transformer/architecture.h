#pragma once
#include "models/transformer/config.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sluice {

class HfConfig;

/// Where a parameter lies in a Hugging Face checkpoint.
struct TensorSource {
  std::string tensor;       ///< name in the checkpoint
  bool transposed = false;  ///< stored [in, out] (GPT-2's Conv1D)
  int64_t offset = 0;       ///< first row of ours in the (transposed back) tensor
  int64_t rows = 0;         ///< rows of that tensor in all; 0: all of it is this parameter
};

/// One family of models: how its Hugging Face files become our config and parameter names, and
/// back. A family is one file in arch/ and one line in arch/families.def. All functions are pure.
struct Architecture {
  std::string family;       ///< our name: "llama"
  std::string model_type;   ///< Hugging Face's: "llama"
  std::string causal_lm;    ///< "LlamaForCausalLM"
  std::string classifier;   ///< "LlamaForSequenceClassification"; empty: none
  std::string base;         ///< "LlamaModel": the same without a head
  std::string base_prefix;  ///< "model.": checkpoints of `base`, and some others, lack it
  /// Complaints go to `hf`.
  TransformerConfig (*read)(HfConfig& hf) = nullptr;
  /// Without architectures and model_type, which write_hf_config adds.
  nlohmann::json (*write)(const TransformerConfig& config) = nullptr;
  /// Null: a parameter has the same name and layout in the checkpoint.
  TensorSource (*source)(const TransformerConfig& config, const std::string& parameter) = nullptr;
};

[[nodiscard]] const std::vector<const Architecture*>& architectures();
/// The one of a config that was read or written here; fails an invariant check otherwise.
[[nodiscard]] const Architecture& architecture_of(const TransformerConfig& config);

/// config.json -> checked config. InvalidArgument names the key; Unimplemented names the unknown
/// architecture and lists the known ones.
Result<TransformerConfig> read_hf_config(const nlohmann::json& config);
/// config -> config.json that `transformers` loads.
nlohmann::json write_hf_config(const TransformerConfig& config);

/// Where `parameter` lies in a checkpoint of the config's family.
[[nodiscard]] TensorSource tensor_source(const TransformerConfig& config,
                                         const std::string& parameter);

}  // namespace sluice
