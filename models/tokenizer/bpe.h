#pragma once
#include "models/tokenizer/model.h"

#include <array>
#include <optional>

namespace sluice {

/// Byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909) with a ranked list of merges: of all
/// neighbours that may merge the lowest rank goes first, the leftmost of equals. Short words are
/// merged by search, long ones with a heap in O(n log n).
class Bpe final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> from_json(const JsonFields& fields);

  Status encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const override;
  [[nodiscard]] bool takes_bytes() const override { return takes_bytes_; }
  void encode_bytes(std::string_view word, const char* text_end, WordCache& cache,
                    std::vector<TokenId>& out) const override;

 private:
  Status read_vocabulary(const JsonFields& fields);
  Status read_merges(const JsonFields& fields);
  Status add_merge(std::string_view left, std::string_view right, size_t rank,
                   const std::string& path);
  void prepare();

  Status encode_segment(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const;
  /// One symbol per character.
  Status append_symbols(std::string_view word, std::vector<TokenId>& out) const;
  /// Merges the symbols from `first` to the end.
  void merge(std::vector<TokenId>& symbols, size_t first) const;
  [[nodiscard]] size_t merge_short(TokenId* symbols, size_t count) const;
  [[nodiscard]] size_t merge_long(TokenId* symbols, size_t count) const;

  PairTable merges_;
  std::optional<std::string> unk_token_;
  std::string prefix_;  ///< of every character but the first
  std::string suffix_;  ///< of the last character
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;

  TokenId unk_ = kNoToken;
  bool unk_merges_ = false;      ///< a merge takes the unknown token, whose text may be anything
  bool splits_at_space_ = true;  ///< no merge reaches over the place before a run of U+2581
  bool takes_bytes_ = false;
  std::array<TokenId, 256> bytes_{};      ///< ids of the byte alphabet
  std::array<TokenId, 256> fallbacks_{};  ///< ids of "<0x00>" to "<0xFF>"
};

}  // namespace sluice
