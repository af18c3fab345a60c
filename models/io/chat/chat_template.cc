#include "models/io/chat/chat_template.h"

#include "models/io/chat/from_json.h"
#include "models/io/chat/interpreter.h"
#include "models/io/chat/parser.h"
#include "models/io/chat/text_ops.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

using jinja::Dict;
using jinja::Kind;
using jinja::Value;

struct ChatTemplate::Program {
  std::string source;
  jinja::Body body;
};

namespace {

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm out{};
  localtime_r(&now, &out);
  return out;
}

// One message as templates see it: without nulls, its reasoning under every name it goes by.
Value prepared(jinja::Runtime& rt, const Value& message) {
  static constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};
  const auto name = [&](std::string_view text) { return rt.str_view(text); };
  const Dict& given = message.dict();
  const Value* reasoning = nullptr;
  for (const std::string_view key : kReasoning) {
    const Value* const value = given.find(key);
    if (reasoning == nullptr && value != nullptr && !value->is(Kind::None)) reasoning = value;
  }
  Dict out;
  if (reasoning != nullptr) out.set(name("thinking"), *reasoning);
  for (const auto& [key, value] : given.entries()) {
    if (!value.is(Kind::None)) out.set(key, value);
  }
  if (reasoning != nullptr) out.set(name("reasoning_content"), *reasoning);
  return rt.failed() ? Value::failed() : rt.dict(std::move(out));
}

// Marks where the last message ends. As in transformers, so that what trims or changes a text does
// the same to both.
constexpr std::string_view kEndMark = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kEndMarkTrimmed = kEndMark.substr(0, kEndMark.size() - 1);

/// `message` with the mark behind its content, or behind the last text of its parts; `content`
/// becomes what stood there.
Value marked(jinja::Runtime& rt, const Value& message, std::string_view& content) {
  const auto with_mark = [&](const Dict& from, std::string_view key, const Value& text) {
    content = text.text();
    Dict out = from;
    out.set(rt.str_view(key), rt.str(std::string(content) + std::string(kEndMark)));
    return rt.failed() ? Value::failed() : rt.dict(std::move(out));
  };
  const Value* found = message.dict().find("content");
  if (found != nullptr && found->is(Kind::String)) {
    return with_mark(message.dict(), "content", *found);
  }
  if (found == nullptr || !found->is(Kind::List)) {
    return rt.fail("the last message has no content to continue");
  }
  std::vector<Value> parts = found->items();
  for (size_t i = parts.size(); i-- > 0;) {
    const Value* text = parts[i].is(Kind::Dict) ? parts[i].dict().find("text") : nullptr;
    if (text == nullptr || !text->is(Kind::String)) continue;
    parts[i] = with_mark(parts[i].dict(), "text", *text);
    Dict out = message.dict();
    out.set(rt.str_view("content"), rt.list(std::move(parts)));
    return rt.failed() ? Value::failed() : rt.dict(std::move(out));
  }
  return rt.fail("the last message has no text to continue");
}

/// Ends `chat` where the mark stands.
Status end_at_mark(std::string_view content, RenderedChat& chat) {
  const size_t at = chat.text.rfind(kEndMarkTrimmed);
  if (at == std::string::npos ||
      chat.text.find(jinja::stripped(content, nullptr, true, true)) == std::string::npos) {
    return invalid_argument(
        "chat template: the last message cannot be continued: the template changes its text");
  }
  const bool kept = std::string_view(chat.text).substr(at).starts_with(kEndMark);
  chat.text.resize(at);
  // The template trims messages, so the white space before the mark would have gone.
  if (!kept) chat.text.resize(jinja::stripped(chat.text, nullptr, false, true).size());
  std::erase_if(chat.generated,
                [&](const GeneratedSpan& s) { return s.begin >= chat.text.size(); });
  for (GeneratedSpan& span : chat.generated) span.end = std::min(span.end, chat.text.size());
  return {};
}

Value conversation(jinja::Runtime& rt, const nlohmann::ordered_json& messages,
                   std::string_view* continued) {
  if (!messages.is_array()) return rt.fail("the messages are not a list");
  const Value given = jinja::from_json(rt, messages);
  if (given.is(Kind::Failed)) return given;
  std::vector<Value> out;
  for (const Value& message : given.items()) {
    if (!message.is(Kind::Dict))
      return rt.fail(fmt::format("message {} is not an object", out.size()));
    out.push_back(prepared(rt, message));
    if (out.back().is(Kind::Failed)) return Value::failed();
  }
  if (continued != nullptr) {
    if (out.empty()) return rt.fail("there is no message to continue");
    out.back() = marked(rt, out.back(), *continued);
    if (out.back().is(Kind::Failed)) return Value::failed();
  }
  return rt.list(std::move(out));
}

bool define(jinja::Interpreter& run, std::string_view name, const Value& value) {
  const Value key = run.runtime().str_view(name);
  if (key.is(Kind::Failed) || value.is(Kind::Failed)) return false;
  run.define(key, value);
  return true;
}

bool define_all(jinja::Interpreter& run, const nlohmann::ordered_json& messages,
                const ChatOptions& options, std::string_view* continued) {
  jinja::Runtime& rt = run.runtime();
  const auto list = [&](const nlohmann::ordered_json* json) {
    return json == nullptr ? Value::none() : jinja::from_json(rt, *json);
  };
  for (const auto& [name, token] : options.special_tokens) {
    if (!define(run, name, rt.str_view(token))) return false;
  }
  if (!define(run, "messages", conversation(rt, messages, continued)) ||
      !define(run, "tools", list(options.tools)) ||
      !define(run, "documents", list(options.documents)) ||
      !define(run, "add_generation_prompt", Value::boolean(options.add_generation_prompt))) {
    return false;
  }
  if (options.variables == nullptr) return true;
  if (!options.variables->is_object()) {
    rt.fail("the variables are not an object");
    return false;
  }
  for (auto it = options.variables->begin(); it != options.variables->end(); ++it) {
    if (!define(run, it.key(), jinja::from_json(rt, it.value()))) return false;
  }
  return true;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  auto program = std::make_shared<Program>();
  program->source = source;
  ASSIGN_OR_RETURN(program->body, jinja::parse(source));
  return ChatTemplate(std::move(program));
}

Result<RenderedChat> ChatTemplate::render(const nlohmann::ordered_json& messages,
                                          const ChatOptions& options) const {
  if (options.continue_final_message && options.add_generation_prompt) {
    return invalid_argument(
        "continue_final_message and add_generation_prompt exclude each other: one continues the "
        "last message, the other begins a new one");
  }
  jinja::Interpreter run(options.limits);
  run.runtime().now = options.now ? options.now : local_time;
  std::string_view content;
  std::string_view* const continued = options.continue_final_message ? &content : nullptr;
  if (!define_all(run, messages, options, continued) || !run.run(program_->body)) {
    return run.runtime().status();
  }
  RenderedChat out;
  out.text = std::move(run.output());
  for (const auto& span : run.spans()) {
    // A block inside {% set %} or a macro whose text goes elsewhere has no place of its own.
    if (span.end > out.text.size()) {
      run.runtime().fail("the text of a generation block is not written where the block stands");
      return run.runtime().status();
    }
    out.generated.push_back({span.begin, span.end});
  }
  if (continued != nullptr) RETURN_IF_ERROR(end_at_mark(content, out));
  return out;
}

const std::string& ChatTemplate::source() const { return program_->source; }

}  // namespace sluice
