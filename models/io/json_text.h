#pragma once
#include "dataflow/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// Bounds of what parse_json takes.
struct JsonLimits {
  size_t max_bytes = size_t{256} << 20;
  size_t max_depth = 64;
};

/// Strict JSON: valid UTF-8, one value, no duplicate keys, bounded. Errors are one line with the
/// position or the key, without the file's name.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// parse_json of a whole file; errors name the file.
Result<nlohmann::json> read_json(const std::string& path, const JsonLimits& limits = {});

/// As read_json, but an empty object when there is no such file.
Result<nlohmann::json> read_json_if_there(const std::string& path, const JsonLimits& limits = {});

/// Position of the first byte that is not part of valid UTF-8, or npos.
[[nodiscard]] size_t find_invalid_utf8(std::string_view text) noexcept;

}  // namespace sluice
