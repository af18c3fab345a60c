#include "envs/text/sokoban_level.h"

#include "dataflow/base/result.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

constexpr char kDirections[] = {'U', 'D', 'L', 'R'};

int stride(char direction, int side) {
  switch (direction) {
    case 'U':
      return -side;
    case 'D':
      return side;
    case 'L':
      return -1;
    case 'R':
      return 1;
    default:
      return 0;
  }
}

char opposite(char direction) {
  constexpr std::string_view kPairs = "UDLR";
  return kPairs[kPairs.find(direction) ^ 1U];
}

size_t cell(int at) { return static_cast<size_t>(at); }

// A walled board with a few inner walls, boxes on their targets and a player: solved.
SokobanLevel solved_board(Draws& draws, int side, int boxes) {
  SokobanLevel level;
  level.side = side;
  std::vector<int> free;
  for (int at = 0; at < side * side; ++at) {
    const int row = at / side;
    const int column = at % side;
    const bool border = row == 0 || column == 0 || row == side - 1 || column == side - 1;
    if (border || draws.below(6) == 0) {
      level.walls.set(cell(at));
    } else {
      free.push_back(at);
    }
  }
  draws.shuffle(free);
  if (static_cast<int>(free.size()) <= boxes + 1) return solved_board(draws, side, boxes);
  for (int i = 0; i < boxes; ++i) level.targets.set(cell(free[cell(i)]));
  level.boxes = level.targets;
  level.player = free[cell(boxes)];
  return level;
}

}  // namespace

bool SokobanLevel::move(char direction) {
  const int step = stride(direction, side);
  const int next = player + step;
  if (step == 0 || walls[cell(next)]) return false;
  if (boxes[cell(next)]) {
    const int beyond = next + step;
    if (walls[cell(beyond)] || boxes[cell(beyond)]) return false;
    boxes.reset(cell(next));
    boxes.set(cell(beyond));
  }
  player = next;
  return true;
}

std::string SokobanLevel::text() const {
  std::string out;
  for (int at = 0; at < side * side; ++at) {
    const bool target = targets[cell(at)];
    const char mark = walls[cell(at)]   ? '#'
                      : boxes[cell(at)] ? (target ? '*' : 'X')
                      : at == player    ? (target ? 'S' : 'P')
                      : target          ? 'O'
                                        : '_';
    out += mark;
    if (at % side == side - 1 && at + 1 < side * side) out += '\n';
  }
  return out;
}

SolvableLevel draw_sokoban(Draws& draws, int side, int boxes, int depth) {
  SLUICE_CHECK(side >= 4 && side <= SokobanLevel::kMaxSide && boxes >= 1) << side << " " << boxes;
  while (true) {
    SokobanLevel level = solved_board(draws, side, boxes);
    std::string backwards;
    for (int i = 0; i < depth; ++i) {
      // Backwards the player walks off and may take along the box behind.
      const char direction = draws.pick(kDirections);
      const int step = stride(direction, side);
      const int next = level.player + step;
      if (level.walls[cell(next)] || level.boxes[cell(next)]) continue;
      const int behind = level.player - step;
      if (level.boxes[cell(behind)] && draws.below(4) != 0) {
        level.boxes.reset(cell(behind));
        level.boxes.set(cell(level.player));
      }
      level.player = next;
      backwards += opposite(direction);
    }
    if ((level.boxes & level.targets).any()) continue;
    std::reverse(backwards.begin(), backwards.end());
    return {level, std::move(backwards)};
  }
}

}  // namespace sluice
