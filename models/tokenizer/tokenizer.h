#pragma once
#include "models/tokenizer/added_tokens.h"
#include "models/tokenizer/decoder.h"
#include "models/tokenizer/model.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/post_processor.h"
#include "models/tokenizer/pre_tokenizer.h"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct EncodeOptions {
  bool add_special_tokens = true;  ///< what the post-processor puts around a text
  bool parse_special = true;       ///< false: the text of a special token is plain text
};

struct DecodeOptions {
  /// Leaves out special tokens; those whose text the normalizer changes stay, as in the reference.
  bool skip_special_tokens = true;
};

class StreamDecoder;

/// A tokenizer.json at work: text to ids and back, as Hugging Face `tokenizers` does it. Immutable;
/// any thread may use it.
///
///   ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::load("model/tokenizer.json"));
///   ASSIGN_OR_RETURN(auto ids, tokenizer->encode("Hello world"));
///   std::string text = tokenizer->decode(ids);
///
/// Bytes of a text that are not UTF-8 become U+FFFD, one for each ill-formed maximal subpart (as
/// Python's decode(errors="replace")), before anything else sees them. Truncation and padding in
/// the file are ignored.
class Tokenizer {
 public:
  struct LoadOptions {
    /// Hand-written scanners for known patterns; without them PCRE2 splits. Both give the same.
    bool scanners = true;
  };

  /// From the text of a tokenizer.json. InvalidArgument in one line, beginning with `name` and the
  /// key, when it is malformed or names what is not supported.
  static Result<std::unique_ptr<Tokenizer>> from_json(std::string_view text, std::string_view name,
                                                      LoadOptions options);
  static Result<std::unique_ptr<Tokenizer>> from_json(std::string_view text,
                                                      std::string_view name = "tokenizer.json") {
    return from_json(text, name, {});
  }
  /// From a file, or from tokenizer.json in a folder.
  static Result<std::unique_ptr<Tokenizer>> load(const std::string& path);

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// FailedPrecondition when a character has no token and there is no unknown token,
  /// ResourceExhausted when the file's pattern takes too many steps on this text.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Ids that are not in the vocabulary are passed over.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  /// A decoder that takes ids as they come; it must not outlive the tokenizer.
  [[nodiscard]] StreamDecoder stream(DecodeOptions options = {}) const;

  /// One more than the largest id.
  [[nodiscard]] size_t vocab_size() const { return end_; }
  /// As it stands in the file ("Ġworld"), an added token as it is looked for (normalised if it says
  /// so); empty when there is no such id.
  [[nodiscard]] std::string_view token(TokenId id) const;
  /// The bytes that a token adds to a text that has begun; empty when there is no such id. All
  /// bytes of a text's tokens, one after the other, are the text (but for what a decoder strips
  /// from its beginning).
  [[nodiscard]] std::string bytes_behind(TokenId id) const;
  /// kNoToken when there is no such token.
  [[nodiscard]] TokenId id(std::string_view token) const;
  [[nodiscard]] bool is_special(TokenId id) const;
  [[nodiscard]] const std::vector<AddedToken>& added_tokens() const { return added_.all(); }

 private:
  friend class StreamDecoder;
  struct Scratch;
  class Lease;

  Tokenizer();
  static Result<std::unique_ptr<Tokenizer>> build(std::string_view text, std::string_view name,
                                                  LoadOptions options);
  Status index_tokens(std::string_view name);
  Status encode_text(std::string_view text, EncodeOptions options, Scratch& scratch,
                     std::vector<TokenId>& out) const;
  Status encode_segment(std::string_view text, bool at_start, EncodeOptions options,
                        Scratch& scratch, std::vector<TokenId>& out) const;
  Status encode_words(std::string_view text, bool at_start, Scratch& scratch,
                      std::vector<TokenId>& out) const;
  template <KnownSplit kind>
  void encode_known(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
  /// Bytes of a token for a decoder that spells bytes.
  [[nodiscard]] std::string_view bytes(TokenId id) const {
    return std::string_view(bytes_).substr(bytes_at_[id], bytes_at_[id + 1] - bytes_at_[id]);
  }
  [[nodiscard]] bool wanted(TokenId id, DecodeOptions options) const {
    return id >= 0 && static_cast<size_t>(id) < end_ &&
           (kinds_[id] & (options.skip_special_tokens ? kSkipped | kAbsent : kAbsent)) == 0;
  }

  static constexpr uint8_t kAbsent = 1;
  static constexpr uint8_t kSpecial = 2;
  static constexpr uint8_t kSkipped = 4;  ///< by decode with skip_special_tokens

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  AddedTokens added_;
  PostProcessor post_processor_;
  Decoder decoder_;
  WordScanner scanner_;
  std::optional<KnownSplit> known_;
  bool bytes_mode_ = false;  ///< words stay bytes and the model takes them so
  size_t end_ = 0;
  std::vector<uint8_t> kinds_;
  std::string bytes_;
  std::vector<uint32_t> bytes_at_;

  /// Scratches that no call uses; the slots own what they hold.
  mutable std::array<std::atomic<Scratch*>, 16> idle_{};
};

/// Decodes ids as they come. Text that was given is never taken back and never ends inside a
/// character; all of it together is what decode gives for all ids.
class StreamDecoder {
 public:
  /// The text that became certain with this id; may be empty.
  std::string put(TokenId id);
  /// The rest: U+FFFD when the ids end inside a character.
  std::string finish();

 private:
  friend class Tokenizer;
  StreamDecoder(const Tokenizer* tokenizer, DecodeOptions options);
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string pending_;  ///< an unfinished character, when the decoder spells bytes
  std::optional<Decoder::Run> run_;
};

}  // namespace sluice
