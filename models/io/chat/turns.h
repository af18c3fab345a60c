#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/chat_template.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice {

/// How the text of a conversation relates to the text it had a turn earlier.
struct TurnExtension {
  /// The new text begins with all of the old one: tokens and log-probs of earlier turns stay valid,
  /// and a KV cache goes on. Templates that drop earlier reasoning (Qwen3, R1) break this.
  bool extends = false;
  /// Bytes at the start that both have; never inside a UTF-8 character.
  size_t common_bytes = 0;
};

/// Compares what the model has seen and written so far (prompt plus sampled text) with the prompt
/// of the next turn.
[[nodiscard]] TurnExtension compare_turns(std::string_view so_far, std::string_view next) noexcept;
/// compare_turns(..).extends.
[[nodiscard]] bool is_extension(std::string_view so_far, std::string_view next) noexcept;

/// For every assistant message but the last: how the conversation up to the next assistant message
/// relates to the conversation up to this one. A multi-turn rollout may be trained as one sequence
/// where all extend; where one does not, its earlier part is a sequence of its own.
[[nodiscard]] Result<std::vector<TurnExtension>> turn_extensions(
    const ChatTemplate& chat, const nlohmann::ordered_json& messages, const ChatOptions& options);

}  // namespace sluice
