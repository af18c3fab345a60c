#pragma once
#include <nlohmann/json.hpp>

#include <string>

namespace sluice {

/// For tests: what is wrong with `value` under `schema` (the keywords that add_json_schema
/// supports, by their definitions); empty when nothing is.
[[nodiscard]] std::string schema_fault(const nlohmann::json& value, const nlohmann::json& schema,
                                       const nlohmann::json& root);

}  // namespace sluice
