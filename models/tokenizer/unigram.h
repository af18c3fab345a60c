#pragma once
#include "models/tokenizer/model.h"

#include <array>
#include <optional>

namespace sluice {

/// Unigram language model (Kudo 2018, arXiv 1804.10959): the segmentation of the greatest sum of
/// scores, found by dynamic programming over the bytes of a word (Viterbi).
class Unigram final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> from_json(const JsonFields& fields);

  Status encode(std::string_view word, WordCache& cache, std::vector<TokenId>& out) const override;

 private:
  static constexpr double kUnknownPenalty = 10;

  void add_to_trie(std::string_view piece, TokenId id);
  Status segment(std::string_view word, std::vector<TokenId>& out) const;
  Status put(std::string_view piece, std::vector<TokenId>& out) const;

  std::vector<double> scores_;
  double least_ = 0;
  std::optional<TokenId> unk_;
  bool byte_fallback_ = false;
  std::array<TokenId, 256> fallbacks_{};

  PairTable edges_;             ///< (node, byte) to node
  std::vector<TokenId> nodes_;  ///< the piece that ends at each node
};

}  // namespace sluice
