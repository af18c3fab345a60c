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
/// position or the key, without the file's name. This is the reader of everything that comes with a
/// model, but for the two large parts that never become a tree: tokenizer.json
/// (models/tokenizer/json_doc.h) and the headers of safetensors files.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// The same with the keys of objects in their order, as conversations and tool schemas need; at
/// most 10,000 keys in one object.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text,
                                                  const JsonLimits& limits = {});

/// The same status with the control characters of its message replaced by '?'. Errors quote names
/// out of files, and stay on one line whatever those hold.
[[nodiscard]] Status one_line(const Status& status);

/// Position of the first byte that is not part of valid UTF-8, or npos.
[[nodiscard]] size_t find_invalid_utf8(std::string_view text) noexcept;

}  // namespace sluice
