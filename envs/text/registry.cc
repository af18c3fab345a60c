#include "envs/text/registry.h"

#include "dataflow/base/nearest.h"
#include "envs/text/arithmetic.h"
#include "envs/text/countdown.h"
#include "envs/text/dataset_task.h"
#include "envs/text/knights_and_knaves.h"
#include "envs/text/simple_tasks.h"
#include "envs/text/word_problems.h"

#include <map>

namespace sluice {
namespace {

using TaskTable = std::map<std::string, TextTaskFactory, std::less<>>;

// The tasks that come with Sluice, one line each.
TaskTable& task_table() {
  static TaskTable table{
      {"arithmetic", ArithmeticTask::make},
      {"comparison", make_generated<ComparisonTask>},
      {"countdown", make_generated<CountdownTask>},
      {"dataset", DatasetTask::make},
      {"digit_count", make_generated<DigitCountTask>},
      {"knights_and_knaves", make_generated<KnightsAndKnavesTask>},
      {"letter_count", make_generated<LetterCountTask>},
      {"string_reverse", make_string_task<StringTask::Kind::Reverse>},
      {"string_sort", make_string_task<StringTask::Kind::Sort>},
      {"string_upper", make_string_task<StringTask::Kind::Upper>},
      {"word_problems", make_generated<WordProblemsTask>},
  };
  return table;
}

}  // namespace

Status register_text_task(std::string name, TextTaskFactory factory) {
  if (name.empty()) return invalid_argument("a task needs a name");
  if (!factory) return invalid_argument("task '{}' was registered without a factory", name);
  const auto [place, added] = task_table().try_emplace(std::move(name), std::move(factory));
  if (!added) return error(Code::AlreadyExists, "task '{}' is registered already", place->first);
  return {};
}

Result<std::unique_ptr<TextTask>> make_text_task(std::string_view name,
                                                 const TextTaskOptions& options) {
  const auto found = task_table().find(name);
  if (found == task_table().end()) {
    const std::vector<std::string> known = text_task_names();
    const std::string near = did_you_mean(name, known);
    return error(Code::NotFound, "unknown task '{}'{} Known: {}", name, near.empty() ? "." : near,
                 fmt::join(known, ", "));
  }
  auto task = found->second(options);
  if (!task.ok()) return task.status().with_context(fmt::format("task '{}'", name));
  if (!*task) return error(Code::Internal, "the factory of task '{}' made nothing", name);
  return task;
}

std::vector<std::string> text_task_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : task_table()) names.push_back(name);
  return names;
}

}  // namespace sluice
