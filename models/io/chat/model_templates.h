#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/chat_template.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The chat templates that come with a model, and the special tokens they write.
class ModelTemplates {
 public:
  /// From the content of tokenizer_config.json, whose `chat_template` is a string or a list of
  /// {name, template}. `file`, the content of chat_template.jinja, wins over a default in it.
  [[nodiscard]] static Result<ModelTemplates> from_config(
      const nlohmann::json& tokenizer_config, std::optional<std::string_view> file = std::nullopt);

  /// From a model's folder (tokenizer_config.json, chat_template.jinja,
  /// additional_chat_templates/NAME.jinja) or from one template file.
  [[nodiscard]] static Result<ModelTemplates> load(const std::string& path);

  /// The template called `name`; null when there is none.
  [[nodiscard]] const ChatTemplate* find(std::string_view name) const;
  /// What transformers takes: "tool_use" when there are tools and such a template, else "default".
  /// Fails with the names there are.
  [[nodiscard]] Result<ChatTemplate> choose(bool has_tools) const;

  /// "bos_token" -> "<s>", as far as the config names them; for ChatOptions::special_tokens.
  [[nodiscard]] const std::map<std::string, std::string>& special_tokens() const { return tokens_; }

 private:
  Status add(const std::string& name, std::string_view source);
  Status add_file(const std::string& name, const std::string& path);
  Status read_config(const nlohmann::json& config);

  std::map<std::string, ChatTemplate, std::less<>> templates_;
  std::map<std::string, std::string> tokens_;
};

}  // namespace sluice
