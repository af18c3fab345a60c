#include "models/io/chat/chat_template.h"

#include "models/io/chat/from_json.h"
#include "models/io/chat/interpreter.h"
#include "models/io/chat/parser.h"

#include <nlohmann/json.hpp>

#include <utility>

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

Value conversation(jinja::Runtime& rt, const nlohmann::ordered_json& messages) {
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
  return rt.list(std::move(out));
}

bool define(jinja::Interpreter& run, std::string_view name, const Value& value) {
  const Value key = run.runtime().str_view(name);
  if (key.is(Kind::Failed) || value.is(Kind::Failed)) return false;
  run.define(key, value);
  return true;
}

bool define_all(jinja::Interpreter& run, const nlohmann::ordered_json& messages,
                const ChatOptions& options) {
  jinja::Runtime& rt = run.runtime();
  const auto list = [&](const nlohmann::ordered_json* json) {
    return json == nullptr ? Value::none() : jinja::from_json(rt, *json);
  };
  for (const auto& [name, token] : options.special_tokens) {
    if (!define(run, name, rt.str_view(token))) return false;
  }
  if (!define(run, "messages", conversation(rt, messages)) ||
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
  jinja::Interpreter run(options.limits);
  run.runtime().now = options.now ? options.now : local_time;
  if (!define_all(run, messages, options) || !run.run(program_->body)) {
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
  return out;
}

const std::string& ChatTemplate::source() const { return program_->source; }

}  // namespace sluice
