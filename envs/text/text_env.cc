#include "envs/text/text_env.h"

#include "dataflow/base/nearest.h"
#include "envs/text/sokoban.h"

#include <map>

namespace sluice {
namespace {

using EnvMaker = Result<std::unique_ptr<TextEnv>> (*)(const TextTaskOptions&);

// The environments of several turns, one line each.
const std::map<std::string, EnvMaker, std::less<>>& env_table() {
  static const std::map<std::string, EnvMaker, std::less<>> table{
      {"sokoban", SokobanEnv::make},
  };
  return table;
}

}  // namespace

Result<std::unique_ptr<TextEnv>> make_text_env(std::string_view name,
                                               const TextTaskOptions& options) {
  const auto found = env_table().find(name);
  if (found == env_table().end()) {
    const std::vector<std::string> known = text_env_names();
    const std::string near = did_you_mean(name, known);
    return error(Code::NotFound, "unknown text environment '{}'{} Known: {}", name,
                 near.empty() ? "." : near, fmt::join(known, ", "));
  }
  auto env = found->second(options);
  if (!env.ok()) return env.status().with_context(fmt::format("text environment '{}'", name));
  return env;
}

std::vector<std::string> text_env_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : env_table()) names.push_back(name);
  return names;
}

}  // namespace sluice
