#pragma once
#include "models/tokenizer/json_fields.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// One step of normalisation: valid UTF-8 to valid UTF-8. Immutable.
class NormalizerStage {
 public:
  virtual ~NormalizerStage() = default;
  virtual Status apply(std::string& text) const = 0;
};

/// The normalizer member of tokenizer.json. Immutable; any thread may use it.
class Normalizer {
 public:
  /// `value` empty: texts stay as they are. InvalidArgument for an unknown type names the known
  /// ones.
  static Result<Normalizer> from_json(std::optional<JsonDoc::Value> value, const std::string& path);

  [[nodiscard]] bool empty() const { return stages_.empty(); }
  Status apply(std::string& text) const;

 private:
  Status load(JsonDoc::Value value, const std::string& path);
  std::vector<std::unique_ptr<NormalizerStage>> stages_;
};

/// SentencePiece's compiled character map ("Precompiled").
Result<std::unique_ptr<NormalizerStage>> make_charsmap(const JsonFields& fields);

}  // namespace sluice
