#pragma once
#include "dataflow/base/config.h"
#include "envs/text/registry.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice {

/// Which task a model is trained on. Every worker that needs it makes its own from this: a task is
/// a pure function of its settings.
struct TaskConfig {
  std::string name = "arithmetic";
  int64_t difficulty = 1;
  int64_t seed = 1;  ///< of the problems, and of which of them are held out

  void bind(ConfigBinder& b);
  [[nodiscard]] TextTaskOptions options() const;
  /// Errors name the nearest tasks, or the line of the file.
  Result<std::unique_ptr<TextTask>> make() const { return make_text_task(name, options()); }
};

}  // namespace sluice
