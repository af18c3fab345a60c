#pragma once
#include "models/tokenizer/flat_table.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using TokenId = int32_t;
constexpr TokenId kNoToken = -1;

/// Pieces of text and their ids, both ways. Texts lie in one arena.
class Vocabulary {
 public:
  /// Room for `count` pieces with ids below `end`.
  void reserve(size_t count, size_t end);

  enum class Added : uint8_t { Yes, TextTaken, IdTaken };
  /// Ids must lie below the reserved end.
  Added add(std::string_view text, TokenId id);
  /// As add, but a text that is there already moves to the new id; the old id keeps its text too.
  void add_last_wins(std::string_view text, TokenId id);

  [[nodiscard]] TokenId find(std::string_view text) const;
  [[nodiscard]] bool has(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < by_id_.size() && by_id_[id].present;
  }
  /// Empty for ids that are not there.
  [[nodiscard]] std::string_view text(TokenId id) const {
    return has(id) ? std::string_view(arena_).substr(by_id_[id].begin, by_id_[id].length)
                   : std::string_view();
  }
  [[nodiscard]] size_t size() const { return size_; }
  /// One more than the largest id.
  [[nodiscard]] size_t end() const { return end_; }

 private:
  struct Text {
    uint32_t begin = 0;
    uint32_t length = 0;
    bool present = false;
  };
  [[nodiscard]] size_t slot_of(std::string_view text) const;
  std::string arena_;
  std::vector<Text> by_id_;
  std::vector<TokenId> slots_;  ///< open addressing; kNoToken is free
  size_t size_ = 0;
  size_t end_ = 0;
};

}  // namespace sluice
