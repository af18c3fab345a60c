#pragma once
#include "inference/engine/engine.h"
#include "inference/kernels/attention_kernels.h"
#include "inference/kernels/linear_kernels.h"
#include "models/io/chat/model_templates.h"
#include "models/tokenizer/tokenizer.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct TextModelOptions {
  int threads = 2;  ///< of the tensor library
  int64_t kv_mib = 1024;
  /// Fp32 with Fp32 keys and values is exact mode on the CPU.
  WeightFormat weights = WeightFormat::Fp32;
  KvFormat kv = KvFormat::Fp32;
  std::string device = "cpu";  ///< or "cuda", "cuda:N"
  bool graphs = true;          ///< on a GPU, record steps that only decode
  std::string speculate{};     ///< as make_drafter reads it; empty: no drafter
};

/// A model with what it takes to speak with it: an engine, the tokenizer and the chat templates.
struct TextModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  Result<ModelTemplates> templates = Status();
  std::unique_ptr<Engine> engine;

  /// `name` is a folder, a .gguf file, or the name of a fetched model.
  static Result<TextModel> load(const std::string& name, const TextModelOptions& options);

  /// Ids of {"prompt": "text"}, {"prompt": [ids]}, {"token_ids": [ids]} or {"messages": [..]}
  /// (a conversation, with "tools" if there are any). InvalidArgument says what is wrong.
  Result<std::vector<int64_t>> encode(const nlohmann::ordered_json& request) const;
};

}  // namespace sluice
