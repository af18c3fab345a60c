#pragma once
#include "envs/text/options.h"
#include "envs/text/task.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using TextTaskFactory = std::function<Result<std::unique_ptr<TextTask>>(const TextTaskOptions&)>;

/// Adds a task under a name. AlreadyExists when the name is taken, InvalidArgument when it is empty
/// or there is no factory. Call before anything runs (the first lines of main); not thread-safe
/// against make_text_task.
Status register_text_task(std::string name, TextTaskFactory factory);

/// A task by its name. NotFound names the nearest known tasks and lists all; what the task itself
/// refuses comes back under its name.
Result<std::unique_ptr<TextTask>> make_text_task(std::string_view name,
                                                 const TextTaskOptions& options = {});
/// All names, sorted.
[[nodiscard]] std::vector<std::string> text_task_names();

}  // namespace sluice
