#pragma once
#include "envs/text/draws.h"

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// A Sokoban board of at most 10 x 10. Moves: 'U', 'D', 'L', 'R'.
struct SokobanLevel {
  static constexpr int kMaxSide = 10;
  using Cells = std::bitset<kMaxSide * kMaxSide>;

  int side = 6;
  Cells walls;
  Cells boxes;
  Cells targets;
  int player = 0;  ///< row * side + column

  /// Moves the player, pushing a box if one stands there and can go. False when nothing moved.
  bool move(char direction);
  [[nodiscard]] bool solved() const { return boxes == targets; }
  /// Lines of '#' wall, '_' floor, 'O' target, 'X' box, '*' box on target, 'P' player, 'S' player
  /// on target.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const SokobanLevel&, const SokobanLevel&) = default;
};

/// A level with moves that solve it. It is made by playing backwards from a solved board, pulling
/// boxes off their targets in `depth` moves, so that it always can be solved. No box stands on a
/// target.
struct SolvableLevel {
  SokobanLevel level;
  std::string solution;
};
SolvableLevel draw_sokoban(Draws& draws, int side, int boxes, int depth);

}  // namespace sluice
