#pragma once
#include "models/json/strict_json.h"

#include <string>

namespace sluice {

/// parse_json of a whole file; errors name the file.
Result<nlohmann::json> read_json(const std::string& path, const JsonLimits& limits = {});

/// As read_json, but an empty object when there is no such file.
Result<nlohmann::json> read_json_if_there(const std::string& path, const JsonLimits& limits = {});

/// As read_json, with the keys of objects in their order.
Result<nlohmann::ordered_json> read_ordered_json(const std::string& path,
                                                 const JsonLimits& limits = {});

}  // namespace sluice
