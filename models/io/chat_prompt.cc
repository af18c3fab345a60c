#include "models/io/chat_prompt.h"

#include "models/io/checkpoint.h"
#include "models/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

namespace sluice {

Result<ModelTemplates> templates_of(const std::string& path, const Checkpoint& checkpoint) {
  if (!path.ends_with(".gguf")) return ModelTemplates::load(path);
  ASSIGN_OR_RETURN(const nlohmann::json config, checkpoint.tokenizer_config());
  return ModelTemplates::from_config(config);
}

Result<std::vector<int64_t>> encode_chat(const ModelTemplates& templates,
                                         const Tokenizer& tokenizer,
                                         const nlohmann::ordered_json& messages,
                                         const nlohmann::ordered_json* tools) {
  ChatOptions options;
  options.special_tokens = templates.special_tokens();
  options.add_generation_prompt = true;
  options.tools = tools;
  ASSIGN_OR_RETURN(const ChatTemplate chosen, templates.choose(tools != nullptr));
  ASSIGN_OR_RETURN(const RenderedChat rendered, chosen.render(messages, options));
  EncodeOptions how;
  how.add_special_tokens = false;  // the template wrote them
  ASSIGN_OR_RETURN(const auto ids, tokenizer.encode(rendered.text, how));
  return std::vector<int64_t>(ids.begin(), ids.end());
}

}  // namespace sluice
