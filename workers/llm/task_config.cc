#include "workers/llm/task_config.h"

namespace sluice {

void TaskConfig::bind(ConfigBinder& b) {
  b.field("name", name, "what is asked: one of the registered tasks");
  b.field("difficulty", difficulty, "of generated problems; 1 is the easiest",
          Range::between(1, 100));
  b.field("seed", seed, "of the problems, and of which of them are held out");
  b.field("data", data, "file of a dataset task");
}

TextTaskOptions TaskConfig::options() const {
  TextTaskOptions options;
  options.seed = static_cast<uint64_t>(seed);
  options.difficulty = difficulty;
  options.path = data;
  return options;
}

}  // namespace sluice
