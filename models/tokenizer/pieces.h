#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A text being pre-tokenized: cut into pieces that stages cut further, or rewrite.
struct Pieces {
  struct Piece {
    size_t begin = 0;
    size_t end = 0;
    bool at_start = false;  ///< begins where the original text begins
  };
  std::string text;
  std::vector<Piece> pieces;

  [[nodiscard]] std::string_view of(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
  /// One piece that is all of `whole`; none when it is empty.
  void reset(std::string whole, bool at_start) {
    text = std::move(whole);
    pieces.clear();
    if (!text.empty()) pieces.push_back({0, text.size(), at_start});
  }
};

}  // namespace sluice
