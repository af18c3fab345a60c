#pragma once
#include "inference/sampler/byte_tokenizer.h"
#include "inference/sampler/constraint/constraint.h"
#include "inference/sampler/sampler.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice {

/// For tests: draws texts under a constraint from random logits over a small vocabulary.
class ConstraintFixture {
 public:
  ConstraintFixture();

  [[nodiscard]] ConstraintMasks masks(std::shared_ptr<const Constraint> constraint) const;
  /// The stop id, the last of the vocabulary.
  [[nodiscard]] int64_t end() const { return end_; }
  [[nodiscard]] const TokenTrie& trie() const { return *trie_; }

  /// Draws until the stop id comes; nothing when it does not in time, or (with a failure of the
  /// test) when no token could be drawn.
  std::optional<std::string> draw(ConstraintMasks& masks, uint64_t seed);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  int64_t end_;
  std::shared_ptr<const TokenTrie> trie_;
  TokenSampler sampler_;
};

}  // namespace sluice
