#include "models/io/chat/turns.h"

#include "models/io/chat/unicode.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace sluice {

TurnExtension compare_turns(std::string_view so_far, std::string_view next) noexcept {
  const size_t shorter = std::min(so_far.size(), next.size());
  const auto differs =
      std::mismatch(so_far.begin(), so_far.begin() + static_cast<ptrdiff_t>(shorter), next.begin());
  TurnExtension out;
  out.common_bytes = static_cast<size_t>(differs.first - so_far.begin());
  out.extends = out.common_bytes == so_far.size();
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(so_far[at]) & 0xC0) == 0x80;
  };
  while (!out.extends && out.common_bytes > 0 && continues(out.common_bytes)) --out.common_bytes;
  return out;
}

bool is_extension(std::string_view so_far, std::string_view next) noexcept {
  return compare_turns(so_far, next).extends;
}

Result<std::vector<TurnExtension>> turn_extensions(const ChatTemplate& chat,
                                                   const nlohmann::ordered_json& messages,
                                                   const ChatOptions& options) {
  if (!messages.is_array()) return invalid_argument("the messages are not a list");
  ChatOptions complete = options;
  complete.add_generation_prompt = false;
  std::vector<TurnExtension> out;
  std::string before;
  bool first = true;
  nlohmann::ordered_json so_far = nlohmann::ordered_json::array();
  for (const auto& message : messages) {
    so_far.push_back(message);
    const auto role = message.is_object() ? message.find("role") : message.end();
    if (role == message.end() || *role != "assistant") continue;
    ASSIGN_OR_RETURN(RenderedChat now, chat.render(so_far, complete));
    if (!first) out.push_back(compare_turns(before, now.text));
    before = std::move(now.text);
    first = false;
  }
  return out;
}

}  // namespace sluice
