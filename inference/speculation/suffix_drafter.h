#pragma once
#include "inference/speculation/drafter.h"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Guesses from earlier rollouts: all their stretches of up to `depth` tokens stand in a tree with
/// how often they came; the longest end of the sequence that stands there says what follows most
/// often (the history drafter of DAS, arXiv 2511.13841). As the policy moves, the oldest rollouts
/// are forgotten. One thread writes; none may read meanwhile.
class SuffixDrafter final : public TextDrafter {
 public:
  struct Options {
    int64_t depth = 12;    ///< of the tree
    int64_t shortest = 2;  ///< tokens that must match
    size_t max_tokens =
        1'000'000;             ///< of all rollouts together; memory is at most depth nodes each
    double least_share = 0.3;  ///< a guess follows at least this share of what matches
  };

  SuffixDrafter() : SuffixDrafter(Options{}) {}
  explicit SuffixDrafter(Options options);

  /// A finished rollout (prompt and output, or output alone). The oldest make room for it; one
  /// longer than max_tokens keeps its end.
  void add(std::span<const int64_t> tokens);

  void guess(std::span<const int64_t> tokens, int64_t most,
             std::vector<int64_t>& out) const override;

  [[nodiscard]] size_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] size_t nodes() const noexcept { return nodes_.size() - free_.size(); }

 private:
  static constexpr uint32_t kRoot = 0;
  struct Node {
    int64_t token = 0;
    uint32_t parent = 0;
    uint32_t first_child = 0;  ///< 0: none
    uint32_t next = 0;         ///< siblings, both ways
    uint32_t before = 0;
    uint32_t count = 0;
  };

  /// 0 when there is none.
  [[nodiscard]] uint32_t child(uint32_t node, int64_t token) const;
  uint32_t make_child(uint32_t node, int64_t token);
  void remove(uint32_t node);
  /// The node of the longest end of `tokens` that something follows, and its length.
  [[nodiscard]] std::pair<uint32_t, int64_t> longest_end(std::span<const int64_t> tokens) const;
  void forget_oldest();
  [[nodiscard]] static uint64_t key(uint32_t node, int64_t token) {
    return static_cast<uint64_t>(node) << 32 ^ static_cast<uint64_t>(token);
  }

  Options options_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;
  std::unordered_map<uint64_t, uint32_t> children_;
  std::deque<std::vector<int64_t>> rollouts_;
  size_t tokens_ = 0;
};

}  // namespace sluice
