#pragma once
#include "inference/sampler/constraint/constraint.h"

#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// The masks of all constraints that an engine has under way: requests with the same constraint and
/// the same stop ids share them. The latest kKept stay when no request holds them any more, for the
/// next one with the same schema. One thread.
class MaskPool {
 public:
  static constexpr size_t kKept = 4;

  explicit MaskPool(std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {}

  [[nodiscard]] std::shared_ptr<ConstraintMasks> masks(
      const std::shared_ptr<const Constraint>& constraint, std::span<const int64_t> stop_ids);

  /// Sets of masks that are held, by requests or by the pool.
  [[nodiscard]] size_t size() const;

 private:
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<std::weak_ptr<ConstraintMasks>> all_;
  std::deque<std::shared_ptr<ConstraintMasks>> kept_;
};

}  // namespace sluice
