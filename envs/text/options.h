#pragma once
#include <cstdint>
#include <string>

namespace sluice {

/// What a task is made from. A task refuses what it has no use for or cannot work with.
struct TextTaskOptions {
  uint64_t seed = 0;       ///< draws the problems and which of them are held out
  int64_t difficulty = 1;  ///< 1 is the easiest; what each level means is in the task's header
};

}  // namespace sluice
