#include "inference/server/body_fields.h"

#include "dataflow/base/nearest.h"

#include <algorithm>
#include <cmath>

namespace sluice {

using Json = nlohmann::json;

std::string_view json_kind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_float:
      return "a number with a fraction";
    default:
      return "a whole number";
  }
}

BodyFields::BodyFields(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {}

const Json* BodyFields::find(const char* name) {
  known_.emplace_back(name);
  const auto at = object_.find(name);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

void BodyFields::require(bool fine, const std::string& otherwise) {
  if (!fine && fault_.ok()) fault_ = Status(Code::InvalidArgument, otherwise);
}

void BodyFields::wrong_type(const char* name, const char* expected, const Json& value) {
  require(false,
          fmt::format("'{}{}' must be {}, not {}", where_, name, expected, json_kind(value)));
}

void BodyFields::read(const char* name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return wrong_type(name, "true or false", *value);
  out = value->get<bool>();
}

void BodyFields::read(const char* name, std::string& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) return wrong_type(name, "a string", *value);
  out = value->get<std::string>();
}

bool BodyFields::integer(const char* name, int64_t least, int64_t most, int64_t& out) {
  const Json* value = find(name);
  if (value == nullptr) return false;
  if (!value->is_number_integer()) {
    wrong_type(name, "a whole number", *value);
    return false;
  }
  const bool large =
      value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(most);
  if (large || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    require(false, fmt::format("'{}{}' must lie in [{}, {}], not {}", where_, name, least, most,
                               value->dump()));
    return false;
  }
  out = value->get<int64_t>();
  return true;
}

void BodyFields::read(const char* name, float& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) return wrong_type(name, "a number", *value);
  const auto number = value->get<double>();
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
    return require(false, fmt::format("'{}{}' is too large: {}", where_, name, value->dump()));
  }
  out = static_cast<float>(number);
}

void BodyFields::read(const char* name, std::vector<int64_t>& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return wrong_type(name, "a list of whole numbers", *value);
  std::vector<int64_t> list;
  list.reserve(value->size());
  for (const Json& item : *value) {
    if (!item.is_number_integer()) return wrong_type(name, "a list of whole numbers", item);
    list.push_back(item.get<int64_t>());
  }
  out = std::move(list);
}

void BodyFields::read_texts(const char* name, std::vector<std::string>& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_string()) {
    out = {value->get<std::string>()};
    return;
  }
  if (!value->is_array()) return wrong_type(name, "a string or a list of strings", *value);
  std::vector<std::string> list;
  for (const Json& item : *value) {
    if (!item.is_string()) return wrong_type(name, "a string or a list of strings", item);
    list.push_back(item.get<std::string>());
  }
  out = std::move(list);
}

void BodyFields::ignore(std::initializer_list<const char*> names) {
  known_.insert(known_.end(), names.begin(), names.end());
}

void BodyFields::only(const char* name, const Json& value) {
  const Json* given = find(name);
  if (given == nullptr) return;
  require(*given == value,
          fmt::format("'{}{}' is not supported (only {} is)", where_, name, value.dump()));
}

Status BodyFields::status() const {
  RETURN_IF_ERROR(fault_);
  for (const auto& [name, value] : object_.items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    return invalid_argument("unknown field '{}{}'{}", where_, name, did_you_mean(name, known_));
  }
  return {};
}

}  // namespace sluice
