#include "apps/run/settings.h"

#include <algorithm>

namespace sluice {
namespace {

/// Keys every run has.
struct RunKeys {
  std::string recipe;
  int64_t seed = 1;

  void bind(ConfigBinder& b) {
    b.field("recipe", recipe, "recipe that this file is for");
    b.field("seed", seed, "seed of everything random", Range::at_least(0));
  }
};

Status apply(ConfigBinder& b, const RunOptions& options, const std::string& base_config) {
  std::string problems;
  const auto note = [&](const Status& status) {
    if (!status.ok()) problems += (problems.empty() ? "" : "\n") + status.message();
  };
  if (!base_config.empty()) note(b.load_toml(base_config));
  if (!options.config.empty()) note(b.load_toml(options.config));
  for (const auto& assignment : options.settings) note(b.set(assignment, "--set"));
  return problems.empty() ? Status() : Status(Code::InvalidArgument, problems);
}

struct Resolver {
  Recipe& recipe;
  const RunOptions& options;
  const std::string& base_config;
  RunKeys keys{};

  Result<Program> first_pass() {
    keys.recipe = recipe.name();
    for (const auto& [what, value] : options.choices) {
      RETURN_IF_ERROR(recipe.choose(what, value).with_context("--" + what));
    }
    ConfigBinder own;
    bind_own(own);
    own.skip_unknown();
    RETURN_IF_ERROR(apply(own, options, base_config));
    RETURN_IF_ERROR(own.check());
    if (keys.recipe != recipe.name()) {
      return invalid_argument("the configuration is for the recipe '{}', not '{}'", keys.recipe,
                              recipe.name());
    }
    if (options.seed_given) keys.seed = static_cast<int64_t>(options.seed);
    return recipe.build();
  }

  /// `first`, and what is wrong with keys that only a built program has.
  Status everything_wrong(const Status& first) {
    auto program = recipe.build();
    if (!program.ok()) return first;
    ConfigBinder all;
    bind_all(all, *program);
    const Status rest = apply(all, options, base_config);
    if (rest.ok()) return first;
    if (rest.message().find(first.message()) != std::string::npos) return rest;
    return Status(first.code(), first.message() + "\n" + rest.message());
  }

  void bind_own(ConfigBinder& b) {
    b.section("run", keys);
    recipe.bind(b);
  }

  void bind_all(ConfigBinder& b, Program& program) {
    bind_own(b);
    program.graph.bind(b);
    program.placement.bind(b, program.graph);
  }
};

}  // namespace

Result<ResolvedRun> resolve(Recipe& recipe, const RunOptions& options,
                            const std::string& base_config) {
  Resolver resolver{recipe, options, base_config};
  auto first = resolver.first_pass();
  if (!first.ok()) return resolver.everything_wrong(first.status());
  Program program = *std::move(first);
  ResolvedRun out{std::string(recipe.name()), 1, std::move(program), {}};

  ConfigBinder own;
  resolver.bind_own(own);
  const std::vector<std::string> own_keys = own.keys();
  ConfigBinder all;
  resolver.bind_all(all, out.program);
  RETURN_IF_ERROR(apply(all, options, base_config));
  RETURN_IF_ERROR(all.check());
  if (options.seed_given) resolver.keys.seed = static_cast<int64_t>(options.seed);
  out.seed = static_cast<uint64_t>(resolver.keys.seed);
  if (options.max_steps >= 0) out.program.max_steps = options.max_steps;
  if (options.step_deadline >= 0) out.program.step_deadline = options.step_deadline;
  if (options.grace >= 0) out.program.grace = options.grace;

  // What the recipe derives from its own keys is left out, so that changing one of them in the file
  // still changes all that follows from it.
  const auto& given = all.given();
  out.config = all.to_toml([&](const std::string& key) {
    return std::find(own_keys.begin(), own_keys.end(), key) != own_keys.end() ||
           std::find(given.begin(), given.end(), key) != given.end();
  });
  return out;
}

Result<std::string> recipe_of_run(const std::string& directory) {
  RunKeys keys;
  ConfigBinder b;
  b.section("run", keys);
  b.skip_unknown();
  const Status status = b.load_toml(directory + "/config.toml");
  if (status.code() == Code::NotFound)
    return error(Code::NotFound, "there is no run in '{}'", directory);
  RETURN_IF_ERROR(status);
  return keys.recipe;
}

Result<std::string> settings_help(Recipe& recipe, const RunOptions& options) {
  Resolver resolver{recipe, options, ""};
  ASSIGN_OR_RETURN(Program program, resolver.first_pass());
  ConfigBinder all;
  resolver.bind_all(all, program);
  return all.help();
}

}  // namespace sluice
