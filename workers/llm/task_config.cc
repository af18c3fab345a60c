#include "workers/llm/task_config.h"

namespace sluice {

void TaskConfig::bind(ConfigBinder& b) {
  b.field("name", name, "what is asked: one of the registered tasks");
  b.field("difficulty", difficulty, "of generated problems; 1 is the easiest",
          Range::between(1, 100));
  b.field("seed", seed, "of the problems, and of which of them are held out");
}

TextTaskOptions TaskConfig::options() const {
  TextTaskOptions options;
  options.seed = static_cast<uint64_t>(seed);
  options.difficulty = difficulty;
  return options;
}

}  // namespace sluice
