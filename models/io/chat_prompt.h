#pragma once
#include "dataflow/base/result.h"
#include "models/io/chat/model_templates.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

class Checkpoint;
class Tokenizer;

/// The chat templates of a model, wherever its format keeps them. `path` is what `checkpoint` was
/// opened from.
Result<ModelTemplates> templates_of(const std::string& path, const Checkpoint& checkpoint);

/// What a model reads before it answers a conversation: the rendered messages with the start of the
/// assistant's turn, as token ids. `tools` may be null. Errors: those of the template (it has none,
/// it refuses the roles) and of the tokenizer.
Result<std::vector<int64_t>> encode_chat(const ModelTemplates& templates,
                                         const Tokenizer& tokenizer,
                                         const nlohmann::ordered_json& messages,
                                         const nlohmann::ordered_json* tools = nullptr);

}  // namespace sluice
