#include "apps/cli/commands.h"
#include "models/io/chat/model_templates.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace sluice {
namespace {

struct ChatTemplateOptions {
  std::string model;
  std::string messages;
  std::string tools;
  std::string variables;
  bool generation_prompt = false;
};

Result<nlohmann::ordered_json> read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return error(Code::NotFound, "{}: cannot be read", path);
  auto json = nlohmann::ordered_json::parse(text.str(), nullptr, false);
  if (json.is_discarded()) return invalid_argument("{}: not JSON", path);
  return json;
}

Status print_chat(const ChatTemplateOptions& options) {
  ASSIGN_OR_RETURN(const ModelTemplates model, ModelTemplates::load(options.model));
  ASSIGN_OR_RETURN(nlohmann::ordered_json messages, read_json(options.messages));
  // A request as chat services take it: {"messages": [..], "tools": [..]}.
  std::optional<nlohmann::ordered_json> tools;
  if (messages.is_object() && messages.contains("messages")) {
    if (messages.contains("tools")) tools = messages["tools"];
    messages = nlohmann::ordered_json(messages["messages"]);
  }
  if (!options.tools.empty()) {
    ASSIGN_OR_RETURN(tools, read_json(options.tools));
  }
  nlohmann::ordered_json variables;
  ChatOptions chat;
  chat.special_tokens = model.special_tokens();
  chat.add_generation_prompt = options.generation_prompt;
  if (tools) chat.tools = &*tools;
  if (!options.variables.empty()) {
    variables = nlohmann::ordered_json::parse(options.variables, nullptr, false);
    if (!variables.is_object())
      return invalid_argument("--set '{}' is no JSON object", options.variables);
    chat.variables = &variables;
  }
  ASSIGN_OR_RETURN(const ChatTemplate chosen, model.choose(tools.has_value()));
  ASSIGN_OR_RETURN(const RenderedChat out, chosen.render(messages, chat));
  std::fwrite(out.text.data(), 1, out.text.size(), stdout);
  return {};
}

}  // namespace

void add_chat_template_command(CLI::App& app, int& exit_code) {
  CLI::App* chat = app.add_subcommand("chat-template", "print a conversation as a model reads it");
  auto options = std::make_shared<ChatTemplateOptions>();
  chat->add_option("model", options->model, "model folder, or a template file")->required();
  chat->add_option("messages", options->messages, "JSON file: a list of {role, content}")
      ->required();
  chat->add_option("--tools", options->tools, "JSON file: a list of function schemas");
  chat->add_option("--set", options->variables,
                   "more variables as a JSON object: '{\"enable_thinking\": false}'");
  chat->add_flag("--generation-prompt", options->generation_prompt,
                 "end with the start of the assistant's turn");
  chat->callback([options, &exit_code] {
    const Status status = print_chat(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
