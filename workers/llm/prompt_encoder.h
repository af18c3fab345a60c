#pragma once
#include "envs/text/task.h"
#include "models/io/chat/model_templates.h"
#include "models/tokenizer/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Spells problems as a model reads them: its chat template, its tokenizer. Immutable.
class PromptEncoder {
 public:
  /// `model`: folder, .gguf file, or name of a fetched model. A model without a chat template is
  /// refused here, before anything is loaded that takes long.
  static Result<PromptEncoder> load(const std::string& model);

  /// The tokens up to where the model's answer begins.
  Result<std::vector<int64_t>> encode(const TextProblem& problem) const;
  [[nodiscard]] const Tokenizer& tokenizer() const noexcept { return *tokenizer_; }

 private:
  PromptEncoder(ModelTemplates templates, std::shared_ptr<const Tokenizer> tokenizer)
      : templates_(std::move(templates)), tokenizer_(std::move(tokenizer)) {}

  ModelTemplates templates_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace sluice
