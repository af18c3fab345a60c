#pragma once
#include "apps/run/recipe.h"
#include "apps/run/run_options.h"

#include <cstdint>
#include <string>

namespace sluice {

/// A recipe's program with every setting applied, ready to run.
struct ResolvedRun {
  std::string recipe;
  uint64_t seed = 1;
  Program program;
  std::string config;  ///< TOML that gives the same program again
};

/// Applies, in this order: the recipe's defaults, the choices (--env ..), `base_config` (a resumed
/// run's own file; may be empty), --config, --set, and the plain flags. The keys are the recipe's
/// own, then
/// "<worker>.<field>", "<channel>.<field>" and "placement.<worker>.<field>" of the graph it builds.
/// Refusals list every problem, one a line.
Result<ResolvedRun> resolve(Recipe& recipe, const RunOptions& options,
                            const std::string& base_config);

/// The recipe a run directory was made by. NotFound when there is no run in it.
Result<std::string> recipe_of_run(const std::string& directory);

/// The list behind --help-settings.
Result<std::string> settings_help(Recipe& recipe, const RunOptions& options);

}  // namespace sluice
