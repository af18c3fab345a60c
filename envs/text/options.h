#pragma once
#include "envs/text/dataset.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// What a task is made from. A task refuses what it cannot work with.
struct TextTaskOptions {
  uint64_t seed = 0;       ///< draws the problems and which of them are held out
  int64_t difficulty = 1;  ///< 1 is the easiest; what each level means is in the task's header

  // Of the task "dataset" only.
  DatasetOptions dataset{};
  int64_t eval_rows = 0;               ///< rows held out as the eval split, drawn by the seed
  std::vector<std::string> rewards{};  ///< as parse_reward() reads them; none: "math"
};

}  // namespace sluice
