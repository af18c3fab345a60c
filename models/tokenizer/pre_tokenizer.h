#pragma once
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/pieces.h"
#include "models/tokenizer/word_scanner.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// One step of pre-tokenization. Immutable.
class PreTokenizerStage {
 public:
  virtual ~PreTokenizerStage() = default;
  virtual Status apply(Pieces& pieces) const = 0;
};

/// The pre_tokenizer member of tokenizer.json: cuts a text into the words that the model sees.
/// Immutable; any thread may use it.
class PreTokenizer {
 public:
  /// `value` empty: the text stays whole. InvalidArgument for an unknown type names the known ones.
  static Result<PreTokenizer> from_json(std::optional<JsonDoc::Value> value, std::string path);

  /// Whether the last step spells bytes in the byte alphabet. Then `bytes` may be asked of run: the
  /// words keep their bytes.
  [[nodiscard]] bool spells_bytes() const { return spells_bytes_; }
  Status run(Pieces& pieces, bool bytes) const;

  /// The hand-written twin of run(.., bytes = true), when there is one; a space goes before texts
  /// that do not begin with one when `prefix_space`.
  [[nodiscard]] std::optional<KnownSplit> known() const { return known_; }
  [[nodiscard]] bool prefix_space() const { return prefix_space_; }

 private:
  friend class PreTokenizerLoader;
  std::vector<std::unique_ptr<PreTokenizerStage>> stages_;
  bool spells_bytes_ = false;  ///< the last stage is the spelling
  bool prefix_space_ = false;
  std::optional<KnownSplit> known_;
};

/// Metaspace's members, which pre-tokenizer and decoder share.
struct MetaspaceSpec {
  enum class Prepend : uint8_t { First, Always, Never };
  std::string replacement;
  Prepend prepend = Prepend::Always;
  bool split = true;
  static Result<MetaspaceSpec> from_json(const JsonFields& fields);
};

}  // namespace sluice
