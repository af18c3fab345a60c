#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/limits.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Bytes [begin, end) of a rendered text.
struct GeneratedSpan {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const GeneratedSpan&, const GeneratedSpan&) = default;
};

/// A conversation as the text a model reads.
struct RenderedChat {
  std::string text;
  /// What {% generation %} blocks wrote, in the order they ended: the text a model is trained to
  /// write. Empty when the template has no such blocks.
  std::vector<GeneratedSpan> generated;
};

/// What a rendering takes beside the messages. The pointers may be null and are only read.
struct ChatOptions {
  const nlohmann::ordered_json* tools = nullptr;      ///< list of JSON schemas; null: None
  const nlohmann::ordered_json* documents = nullptr;  ///< list; null: None
  /// More variables: {"enable_thinking": false, "date_string": "26 Jul 2024"}. They win over the
  /// special tokens.
  const nlohmann::ordered_json* variables = nullptr;
  std::map<std::string, std::string> special_tokens;  ///< "bos_token" -> "<s>"
  bool add_generation_prompt = false;  ///< ends with the start of the assistant's turn
  /// The last message is to be continued: the text ends with its content, without what closes a
  /// turn. Not together with add_generation_prompt.
  bool continue_final_message = false;
  /// What strftime_now() prints; unset: the local time. Set it where a prompt must repeat:
  /// templates of Llama 3 put today's date into the system prompt.
  std::function<std::tm()> now;
  RenderLimits limits;
};

/// A chat template of a model: a program in a subset of Jinja, run by an own interpreter that
/// reaches nothing but its input. Renders what transformers' apply_chat_template renders: same
/// white space rules, filters, tests, methods, `raise_exception`, `strftime_now`, `tojson`, loop
/// controls and
/// {% generation %}. Includes, imports, inheritance and recursive loops are refused. Immutable and
/// cheap to copy; any thread.
///
///   ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::parse(source));
///   ChatOptions options;
///   options.add_generation_prompt = true;
///   ASSIGN_OR_RETURN(RenderedChat prompt, chat.render(messages, options));
///
/// The text holds the special tokens as text and, where the template writes one, the begin token:
/// encode it without adding special tokens.
class ChatTemplate {
 public:
  /// Fails with "chat template line N: ..." at the first thing that is no template.
  [[nodiscard]] static Result<ChatTemplate> parse(std::string_view source);

  /// `messages` is a list of objects with role and content. As in transformers, keys whose value is
  /// null count as absent, and reasoning_content, thinking and reasoning stand for one another.
  /// Fails with the template's line when the template raises an exception or an expression fails,
  /// and with ResourceExhausted when it crosses a limit.
  [[nodiscard]] Result<RenderedChat> render(const nlohmann::ordered_json& messages,
                                            const ChatOptions& options = {}) const;

  [[nodiscard]] const std::string& source() const;

 private:
  struct Program;
  explicit ChatTemplate(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace sluice
