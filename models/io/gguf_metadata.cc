#include "models/io/gguf.h"

namespace sluice {
namespace {

Status missing(const std::string& key) {
  return error(Code::NotFound, "metadata '{}' is missing", key);
}

Status wrong_type(const std::string& key, GgufType type, std::string_view wanted) {
  return invalid_argument("metadata '{}' is {}, not {}", key, name(type), wanted);
}

}  // namespace

const GgufValue* GgufHeader::find(const std::string& key) const {
  const auto at = metadata.find(key);
  return at == metadata.end() ? nullptr : &at->second;
}

Result<int64_t> GgufHeader::integer(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* found = std::get_if<int64_t>(&value->value);
  if (found == nullptr || value->type == GgufType::Bool) {
    return wrong_type(key, value->type, "a whole number");
  }
  return *found;
}

Result<double> GgufHeader::number(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  if (const auto* found = std::get_if<double>(&value->value)) return *found;
  ASSIGN_OR_RETURN(const int64_t whole, integer(key));
  return static_cast<double>(whole);
}

Result<std::string> GgufHeader::string(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* found = std::get_if<std::string>(&value->value);
  if (found == nullptr) return wrong_type(key, value->type, "a string");
  return *found;
}

Result<int64_t> GgufHeader::integer_or(const std::string& key, int64_t otherwise) const {
  if (find(key) == nullptr) return otherwise;
  return integer(key);
}

Result<double> GgufHeader::number_or(const std::string& key, double otherwise) const {
  if (find(key) == nullptr) return otherwise;
  return number(key);
}

Result<std::string> GgufHeader::string_or(const std::string& key, std::string otherwise) const {
  if (find(key) == nullptr) return otherwise;
  return string(key);
}

Result<bool> GgufHeader::boolean_or(const std::string& key, bool otherwise) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->type != GgufType::Bool) return wrong_type(key, value->type, "bool");
  return std::get<int64_t>(value->value) != 0;
}

Result<const GgufArray*> GgufHeader::array(const std::string& key, GgufType element) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* found = std::get_if<GgufArray>(&value->value);
  if (found == nullptr || found->element != element) {
    return wrong_type(key, value->type, fmt::format("an array of {}", name(element)));
  }
  return found;
}

}  // namespace sluice
