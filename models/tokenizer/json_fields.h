#pragma once
#include "models/tokenizer/json_doc.h"

#include <optional>
#include <string>

namespace sluice {

/// The members of one JSON object, read by name and type. `path` says where the object stands
/// ("tokenizer.json: model") and begins every complaint. A member that is null counts as absent.
class JsonFields {
 public:
  using Value = JsonDoc::Value;
  using Kind = JsonDoc::Kind;

  /// InvalidArgument unless `value` is an object.
  static Result<JsonFields> of(Value value, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::optional<Value> find(std::string_view key) const;
  /// InvalidArgument when it is absent or of another kind.
  Result<Value> require(std::string_view key, Kind kind) const;
  /// Absent: empty; of another kind: InvalidArgument.
  Result<std::optional<Value>> optional(std::string_view key, Kind kind) const;

  Result<std::string> text(std::string_view key) const;
  Result<std::string> text_or(std::string_view key, std::string_view fallback) const;
  Result<bool> boolean(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  /// A whole number within [0, most].
  Result<uint32_t> number(std::string_view key, uint32_t most) const;

  /// InvalidArgument "path.key: message".
  [[nodiscard]] Status wrong(std::string_view key, std::string_view message) const;

 private:
  JsonFields(Value value, std::string path) : value_(value), path_(std::move(path)) {}
  Value value_;
  std::string path_;
};

/// A whole number within [0, most], or InvalidArgument that begins with `path`.
Result<uint32_t> json_number(JsonDoc::Value value, uint32_t most, std::string_view path);

/// How far a text may grow while it is normalised and pre-tokenized: files can be written whose
/// steps multiply it without end.
[[nodiscard]] constexpr size_t most_growth(size_t size) { return 64 * size + (size_t{1} << 20); }
/// Steps in a sequence, all nested ones counted.
constexpr size_t kMostSteps = 64;

/// Text from a file made fit for a one-line message: at most 80 bytes, control characters as dots.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace sluice
