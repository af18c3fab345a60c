#include "workers/llm/prompt_encoder.h"

#include "models/io/chat_prompt.h"
#include "models/io/checkpoint.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"

#include <nlohmann/json.hpp>

namespace sluice {

Result<PromptEncoder> PromptEncoder::load(const std::string& model) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(auto tokenizer, load_tokenizer(path));
  auto templates = templates_of(path, *checkpoint);
  if (templates.ok()) {
    const auto chosen = templates->choose(false);
    if (!chosen.ok()) templates = chosen.status();
  }
  if (!templates.ok()) {
    return templates.status().with_context(
        fmt::format("'{}' has no chat template that problems could be put in", model));
  }
  return PromptEncoder(*std::move(templates), std::move(tokenizer));
}

Result<std::vector<int64_t>> PromptEncoder::encode(const TextProblem& problem) const {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  for (const ChatTurn& turn : problem.messages) {
    messages.push_back({{"role", turn.role}, {"content", turn.content}});
  }
  return encode_chat(templates_, *tokenizer_, messages);
}

}  // namespace sluice
