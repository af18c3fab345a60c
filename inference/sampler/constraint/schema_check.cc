#include "inference/sampler/constraint/schema_check.h"

#include <cmath>
#include <regex>

namespace sluice {
namespace {
using nlohmann::json;

bool is_type(const json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  return value.is_number_integer() ||
         (value.is_number() && std::floor(value.get<double>()) == value.get<double>());
}

size_t characters(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::string text_fault(const std::string& text, const json& schema) {
  if (characters(text) < schema.value("minLength", size_t{0})) return "too short";
  if (characters(text) > schema.value("maxLength", size_t{1} << 40)) return "too long";
  if (schema.contains("pattern")) {
    if (!std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) {
      return "pattern";
    }
  }
  return "";
}

std::string number_fault(double x, const json& schema) {
  if (x < schema.value("minimum", -INFINITY)) return "minimum";
  if (x > schema.value("maximum", INFINITY)) return "maximum";
  if (x <= schema.value("exclusiveMinimum", -INFINITY)) return "exclusiveMinimum";
  if (x >= schema.value("exclusiveMaximum", INFINITY)) return "exclusiveMaximum";
  return "";
}

std::string array_fault(const json& value, const json& schema, const json& root) {
  if (value.size() < schema.value("minItems", size_t{0})) return "too few items";
  if (value.size() > schema.value("maxItems", size_t{1} << 40)) return "too many items";
  if (!schema.contains("items")) return "";
  for (const json& item : value) {
    if (auto fault = schema_fault(item, schema["items"], root); !fault.empty()) return fault;
  }
  return "";
}

std::string object_fault(const json& value, const json& schema, const json& root) {
  for (const auto& key : schema.value("required", json::array())) {
    if (!value.contains(key.get<std::string>())) return "missing " + key.get<std::string>();
  }
  const json properties = schema.value("properties", json::object());
  for (const auto& [key, item] : value.items()) {
    const json others =
        schema.contains("additionalProperties") ? schema["additionalProperties"] : json(true);
    const json& rule = properties.contains(key) ? properties[key] : others;
    if (auto fault = schema_fault(item, rule, root); !fault.empty()) return key + ": " + fault;
  }
  return "";
}

}  // namespace

std::string schema_fault(const json& value, const json& schema, const json& root) {
  if (schema.is_boolean()) return schema.get<bool>() ? "" : "nothing is allowed";
  if (schema.contains("$ref")) {
    const auto ref = schema["$ref"].get<std::string>();
    return schema_fault(value, root.at(json::json_pointer(ref.substr(1))), root);
  }
  for (const json& one : schema.value("allOf", json::array())) {
    if (auto fault = schema_fault(value, one, root); !fault.empty()) return fault;
  }
  if (schema.contains("anyOf")) {
    bool some = false;
    for (const json& one : schema["anyOf"]) some = some || schema_fault(value, one, root).empty();
    if (!some) return "none of anyOf";
  }
  if (schema.contains("const") && schema["const"] != value) return "not the constant";
  if (schema.contains("enum")) {
    bool some = false;
    for (const json& one : schema["enum"]) some = some || one == value;
    if (!some) return "not in enum";
  }
  if (schema.contains("type")) {
    const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
    bool some = false;
    for (const json& type : types) some = some || is_type(value, type.get<std::string>());
    if (!some) return "type of " + value.dump();
  }
  if (value.is_string()) return text_fault(value.get<std::string>(), schema);
  if (value.is_number()) return number_fault(value.get<double>(), schema);
  if (value.is_array()) return array_fault(value, schema, root);
  if (value.is_object()) return object_fault(value, schema, root);
  return "";
}

}  // namespace sluice
