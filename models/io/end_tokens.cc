#include "models/io/end_tokens.h"

#include "models/io/checkpoint.h"

#include <nlohmann/json.hpp>

namespace sluice {

std::vector<int64_t> end_tokens_of(const Checkpoint& checkpoint) {
  for (const nlohmann::json* config : {&checkpoint.generation_config(), &checkpoint.config()}) {
    if (!config->is_object() || !config->contains("eos_token_id")) continue;
    const nlohmann::json& end = (*config)["eos_token_id"];
    std::vector<int64_t> ids;
    if (end.is_number_integer()) ids.push_back(end.get<int64_t>());
    for (const auto& id : end.is_array() ? end : nlohmann::json::array()) {
      if (id.is_number_integer()) ids.push_back(id.get<int64_t>());
    }
    if (!ids.empty()) return ids;
  }
  return {};
}

}  // namespace sluice
