#include "models/tokenizer/json_fields.h"

namespace sluice {

Result<JsonFields> JsonFields::of(Value value, std::string path) {
  if (!value.is(Kind::Object)) {
    return invalid_argument("{}: is {}, not an object", path, name(value.kind()));
  }
  return JsonFields(value, std::move(path));
}

std::optional<JsonDoc::Value> JsonFields::find(std::string_view key) const {
  for (size_t i = 0; i < value_.size(); ++i) {
    if (value_.key(i) != key) continue;
    const Value found = value_.member(i);
    return found.is_null() ? std::nullopt : std::optional<Value>(found);
  }
  return std::nullopt;
}

Result<std::optional<JsonDoc::Value>> JsonFields::optional(std::string_view key, Kind kind) const {
  auto found = find(key);
  if (found && !found->is(kind)) {
    return wrong(key, fmt::format("is {}, not {}", name(found->kind()), name(kind)));
  }
  return found;
}

Result<JsonDoc::Value> JsonFields::require(std::string_view key, Kind kind) const {
  ASSIGN_OR_RETURN(const auto found, optional(key, kind));
  if (!found) return wrong(key, "is missing");
  return *found;
}

Result<std::string> JsonFields::text(std::string_view key) const {
  ASSIGN_OR_RETURN(const Value found, require(key, Kind::String));
  return std::string(found.string());
}

Result<std::string> JsonFields::text_or(std::string_view key, std::string_view fallback) const {
  ASSIGN_OR_RETURN(const auto found, optional(key, Kind::String));
  return std::string(found ? found->string() : fallback);
}

Result<bool> JsonFields::boolean(std::string_view key) const {
  ASSIGN_OR_RETURN(const Value found, require(key, Kind::Bool));
  return found.boolean();
}

Result<bool> JsonFields::boolean_or(std::string_view key, bool fallback) const {
  ASSIGN_OR_RETURN(const auto found, optional(key, Kind::Bool));
  return found ? found->boolean() : fallback;
}

Result<uint32_t> JsonFields::number(std::string_view key, uint32_t most) const {
  const auto found = find(key);
  if (!found) return wrong(key, "is missing");
  return json_number(*found, most, path_ + "." + std::string(key));
}

Status JsonFields::wrong(std::string_view key, std::string_view message) const {
  return invalid_argument("{}.{}: {}", path_, key, message);
}

Result<uint32_t> json_number(JsonDoc::Value value, uint32_t most, std::string_view path) {
  if (!value.is_number()) {
    return invalid_argument("{}: is {}, not a number", path, name(value.kind()));
  }
  const bool negative = value.is(JsonDoc::Kind::Integer) && value.integer() < 0;
  if (value.is(JsonDoc::Kind::Real) || negative || static_cast<uint64_t>(value.integer()) > most) {
    return invalid_argument("{}: is not a whole number from 0 to {}", path, most);
  }
  return static_cast<uint32_t>(value.integer());
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 80;
  std::string shown = "\"";
  size_t length = std::min(text.size(), kMost);
  // Never cut inside a character.
  while (length < text.size() && length > 0 && (text[length] & 0xC0) == 0x80) --length;
  for (const char c : text.substr(0, length)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '.' : c;
  }
  return shown + (length < text.size() ? "...\"" : "\"");
}

}  // namespace sluice
