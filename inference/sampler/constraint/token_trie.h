#pragma once
#include "models/tokenizer/tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// The bytes of all tokens as a tree, laid out in the order a walk visits it: every node is
/// followed by what lies below it. Immutable; all constraints of a model share one.
class TokenTrie {
 public:
  struct Node {
    uint32_t skip = 0;         ///< the node behind all that lies below this one
    uint32_t first_token = 0;  ///< tokens()[first_token, last_token) end here
    uint32_t last_token = 0;
    uint16_t depth = 0;  ///< bytes before this node's
    unsigned char byte = 0;
  };

  /// `bytes[id]`: what token id adds to a text; empty: it adds nothing, no constraint allows it.
  explicit TokenTrie(std::vector<std::string> bytes);
  /// Special tokens add nothing; ids from the tokenizer's end to `vocabulary` neither.
  static TokenTrie of(const Tokenizer& tokenizer, int64_t vocabulary);

  [[nodiscard]] const std::vector<Node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::vector<uint32_t>& tokens() const noexcept { return tokens_; }
  [[nodiscard]] size_t depth() const noexcept { return depth_; }  ///< of the longest token
  [[nodiscard]] int64_t vocabulary() const noexcept { return static_cast<int64_t>(bytes_.size()); }
  [[nodiscard]] const std::string& bytes(int64_t token) const {
    return bytes_[static_cast<size_t>(token)];
  }

 private:
  std::vector<Node> nodes_;
  std::vector<uint32_t> tokens_;
  std::vector<std::string> bytes_;
  size_t depth_ = 0;
};

}  // namespace sluice
