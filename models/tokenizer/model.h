#pragma once
#include "models/tokenizer/json_fields.h"
#include "models/tokenizer/vocabulary.h"
#include "models/tokenizer/word_cache.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice {

/// What turns a pre-tokenized word into ids. Immutable; any thread may use it, each with a cache of
/// its own.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// The model member of tokenizer.json: BPE or Unigram. Without "type" the members decide.
  static Result<std::unique_ptr<TokenModel>> from_json(JsonDoc::Value value, std::string path);

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Appends the ids of a word of valid UTF-8. FailedPrecondition when the word needs an unknown
  /// token and the model has none.
  virtual Status encode(std::string_view word, WordCache& cache,
                        std::vector<TokenId>& out) const = 0;

  /// Whether encode_bytes may be called.
  [[nodiscard]] virtual bool takes_bytes() const { return false; }
  /// Appends the ids of a word whose bytes stand for the characters of the byte alphabet. Nothing
  /// at or behind `text_end` is read.
  virtual void encode_bytes(std::string_view /*word*/, const char* /*text_end*/,
                            WordCache& /*cache*/, std::vector<TokenId>& /*out*/) const {}

 protected:
  Vocabulary vocabulary_;
};

/// The largest id that a vocabulary of `count` entries may hold: gaps happen, lies are refused.
[[nodiscard]] constexpr uint32_t max_token_id(size_t count) {
  return static_cast<uint32_t>(std::min<size_t>(2 * count + (1 << 16), (1U << 31) - 2));
}

/// The same for tokens that are added to it; files may name more of them than the model has.
[[nodiscard]] constexpr uint32_t max_added_id(size_t count) {
  return static_cast<uint32_t>(std::min<size_t>(2 * count + (1 << 20), (1U << 31) - 2));
}

/// Text to look bytes up by: "<0x0A>".
[[nodiscard]] std::string byte_token(unsigned char byte);

}  // namespace sluice
