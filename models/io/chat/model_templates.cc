#include "models/io/chat/model_templates.h"

#include "models/io/chat/parser.h"
#include "models/json/strict_json.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDefault = "default";
constexpr size_t kMaxConfigBytes = 64u << 20;

Result<std::string> read_text(const fs::path& path, size_t most) {
  std::error_code problem;
  const auto size = fs::file_size(path, problem);
  if (problem) return error(Code::NotFound, "{}: {}", path.string(), problem.message());
  if (size > most) return invalid_argument("{}: larger than {} bytes", path.string(), most);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) return error(Code::Unavailable, "{}: cannot be read", path.string());
  return std::move(text).str();
}

/// Older folders keep the special tokens apart; those of the config win.
Status add_special_tokens(const fs::path& path, nlohmann::json& config) {
  std::error_code problem;
  if (!config.is_object() || !fs::exists(path, problem)) return {};
  ASSIGN_OR_RETURN(const std::string text, read_text(path, kMaxConfigBytes));
  const auto map = parse_json(text);
  if (!map.ok()) return map.status().with_context(path.string());
  if (!map->is_object()) return invalid_argument("{}: not a JSON object", path.string());
  for (const auto& [key, value] : map->items()) {
    if (!config.contains(key)) config[key] = value;
  }
  return {};
}

}  // namespace

Status ModelTemplates::add(const std::string& name, std::string_view source) {
  auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) {
    return name == kDefault ? parsed.status()
                            : parsed.status().with_context(fmt::format("template '{}'", name));
  }
  templates_.insert_or_assign(name, *std::move(parsed));
  return {};
}

Status ModelTemplates::add_file(const std::string& name, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string source, read_text(path, jinja::kMaxSourceBytes));
  return add(name, source).with_context(path);
}

Status ModelTemplates::read_config(const nlohmann::json& config) {
  if (!config.is_object()) return invalid_argument("tokenizer_config: not an object");
  for (const char* const name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                                 "cls_token", "mask_token"}) {
    const auto token = config.find(name);
    if (token == config.end()) continue;
    if (token->is_string()) {
      tokens_[name] = token->get<std::string>();
    } else if (token->is_object() && token->contains("content") &&
               (*token)["content"].is_string()) {
      tokens_[name] = (*token)["content"].get<std::string>();
    } else if (!token->is_null()) {
      return invalid_argument("tokenizer_config: {} is neither a string nor a token", name);
    }
  }
  const auto chat = config.find("chat_template");
  if (chat == config.end() || chat->is_null()) return {};
  if (chat->is_string()) return add(kDefault, chat->get_ref<const std::string&>());
  if (!chat->is_array())
    return invalid_argument("tokenizer_config: chat_template is neither a string nor a list");
  for (const auto& named : *chat) {
    const bool complete = named.is_object() && named.contains("name") &&
                          named.contains("template") && named["name"].is_string() &&
                          named["template"].is_string();
    if (!complete)
      return invalid_argument(
          "tokenizer_config: chat_template: a list of {{name, template}} is needed");
    RETURN_IF_ERROR(
        add(named["name"].get<std::string>(), named["template"].get_ref<const std::string&>()));
  }
  return {};
}

Result<ModelTemplates> ModelTemplates::from_config(const nlohmann::json& tokenizer_config,
                                                   std::optional<std::string_view> file) {
  ModelTemplates out;
  RETURN_IF_ERROR(out.read_config(tokenizer_config));
  if (file) RETURN_IF_ERROR(out.add(kDefault, *file).with_context("chat_template.jinja"));
  return out;
}

Result<ModelTemplates> ModelTemplates::load(const std::string& path) {
  ModelTemplates out;
  std::error_code problem;
  if (!fs::is_directory(path, problem)) {
    RETURN_IF_ERROR(out.add_file(kDefault, path));
    return out;
  }
  const fs::path folder(path);
  const fs::path config_path = folder / "tokenizer_config.json";
  if (fs::exists(config_path, problem)) {
    ASSIGN_OR_RETURN(const std::string text, read_text(config_path, kMaxConfigBytes));
    const auto parsed = parse_json(text);
    if (!parsed.ok()) return parsed.status().with_context(config_path.string());
    nlohmann::json config = *parsed;
    RETURN_IF_ERROR(add_special_tokens(folder / "special_tokens_map.json", config));
    if (const Status status = out.read_config(config); !status.ok())
      return status.with_context(path);
  }
  const fs::path single = folder / "chat_template.jinja";
  if (fs::exists(single, problem)) RETURN_IF_ERROR(out.add_file(kDefault, single.string()));
  fs::directory_iterator more(folder / "additional_chat_templates", problem);
  for (; !problem && more != fs::directory_iterator(); more.increment(problem)) {
    const fs::path& file = more->path();
    if (file.extension() != ".jinja") continue;
    RETURN_IF_ERROR(out.add_file(file.stem().string(), file.string()));
  }
  if (out.templates_.empty()) return error(Code::NotFound, "{}: no chat template", path);
  return out;
}

const ChatTemplate* ModelTemplates::find(std::string_view name) const {
  const auto at = templates_.find(name);
  return at == templates_.end() ? nullptr : &at->second;
}

Result<ChatTemplate> ModelTemplates::choose(bool has_tools) const {
  const ChatTemplate* chosen = has_tools ? find("tool_use") : nullptr;
  if (chosen == nullptr) chosen = find(kDefault);
  if (chosen != nullptr) return *chosen;
  std::string names;
  for (const auto& [name, unused] : templates_) names += (names.empty() ? "" : ", ") + name;
  return error(Code::NotFound, "no default chat template; there are: {}",
               names.empty() ? "none" : names);
}

}  // namespace sluice
