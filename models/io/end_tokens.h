#pragma once
#include <cstdint>
#include <vector>

namespace sluice {

class Checkpoint;

/// The ids that end a text: "eos_token_id" of generation_config.json, else of config.json; one or a
/// list. Empty when neither names any.
[[nodiscard]] std::vector<int64_t> end_tokens_of(const Checkpoint& checkpoint);

}  // namespace sluice
