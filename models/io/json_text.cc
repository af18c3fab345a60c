#include "models/io/json_text.h"

#include "models/io/mapped_file.h"

#include <nlohmann/json.hpp>

namespace sluice {
namespace {

Result<std::string> read_text(const std::string& path, const JsonLimits& limits) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  if (file->size() > limits.max_bytes) {
    return error(Code::ResourceExhausted, "{}: {} bytes of JSON are above the limit {}", path,
                 file->size(), limits.max_bytes);
  }
  std::string text(file->size(), '\0');
  RETURN_IF_ERROR(file->read(0, text.data(), text.size()));
  return text;
}

}  // namespace

Result<nlohmann::json> read_json(const std::string& path, const JsonLimits& limits) {
  ASSIGN_OR_RETURN(const std::string text, read_text(path, limits));
  auto parsed = parse_json(text, limits);
  if (!parsed.ok()) return parsed.status().with_context(path);
  return parsed;
}

Result<nlohmann::ordered_json> read_ordered_json(const std::string& path,
                                                 const JsonLimits& limits) {
  ASSIGN_OR_RETURN(const std::string text, read_text(path, limits));
  auto parsed = parse_ordered_json(text, limits);
  if (!parsed.ok()) return parsed.status().with_context(path);
  return parsed;
}

Result<nlohmann::json> read_json_if_there(const std::string& path, const JsonLimits& limits) {
  auto parsed = read_json(path, limits);
  if (!parsed.ok() && parsed.status().code() == Code::NotFound) return nlohmann::json::object();
  return parsed;
}

}  // namespace sluice
