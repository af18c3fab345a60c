#include "apps/cli/commands.h"
#include "models/io/chat/model_templates.h"
#include "models/io/checkpoint.h"
#include "models/io/json_text.h"
#include "models/io/model_cache.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace sluice {
namespace {

struct ChatTemplateOptions {
  std::string model;
  std::string messages;
  std::string tools;
  std::string variables;
  bool generation_prompt = false;
  bool continue_last = false;
};

Result<ModelTemplates> templates_of(const std::string& model) {
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model));
  if (!path.ends_with(".gguf")) return ModelTemplates::load(path);
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const nlohmann::json config, checkpoint->tokenizer_config());
  return ModelTemplates::from_config(config);
}

Status print_chat(const ChatTemplateOptions& options) {
  ASSIGN_OR_RETURN(const ModelTemplates model, templates_of(options.model));
  ASSIGN_OR_RETURN(nlohmann::ordered_json messages, read_ordered_json(options.messages));
  // A request as chat services take it: {"messages": [..], "tools": [..]}.
  std::optional<nlohmann::ordered_json> tools;
  if (messages.is_object() && messages.contains("messages")) {
    if (messages.contains("tools")) tools = messages["tools"];
    messages = nlohmann::ordered_json(std::move(messages["messages"]));
  }
  if (!messages.is_array()) {
    return invalid_argument("{}: neither a list of messages nor an object with 'messages'",
                            options.messages);
  }
  if (!options.tools.empty()) {
    ASSIGN_OR_RETURN(tools, read_ordered_json(options.tools));
  }
  nlohmann::ordered_json variables;
  ChatOptions chat;
  chat.special_tokens = model.special_tokens();
  chat.add_generation_prompt = options.generation_prompt;
  chat.continue_final_message = options.continue_last;
  if (tools) chat.tools = &*tools;
  if (!options.variables.empty()) {
    auto set = parse_ordered_json(options.variables);
    if (!set.ok()) return set.status().with_context("--set");
    if (!set->is_object()) {
      return invalid_argument("--set '{}' is no JSON object", options.variables);
    }
    variables = *std::move(set);
    chat.variables = &variables;
  }
  ASSIGN_OR_RETURN(const ChatTemplate chosen, model.choose(tools.has_value()));
  const auto out = chosen.render(messages, chat);
  if (!out.ok()) return out.status().with_context(options.model);
  std::fwrite(out->text.data(), 1, out->text.size(), stdout);
  return {};
}

}  // namespace

void add_chat_template_command(CLI::App& app, int& exit_code) {
  CLI::App* chat = app.add_subcommand("chat-template", "print a conversation as a model reads it");
  auto options = std::make_shared<ChatTemplateOptions>();
  chat->add_option("model", options->model,
                   "folder, .gguf file, name of a fetched model, or template file")
      ->required();
  chat->add_option("messages", options->messages, "JSON file: a list of {role, content}")
      ->required();
  chat->add_option("--tools", options->tools, "JSON file: a list of function schemas");
  chat->add_option("--set", options->variables,
                   "more variables as a JSON object: '{\"enable_thinking\": false}'");
  auto* prompt = chat->add_flag("--generation-prompt", options->generation_prompt,
                                "end with the start of the assistant's turn");
  chat->add_flag("--continue", options->continue_last,
                 "end with the last message left open, for the model to continue")
      ->excludes(prompt);
  chat->callback([options, &exit_code] {
    const Status status = print_chat(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
