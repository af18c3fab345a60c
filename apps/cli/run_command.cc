#include "apps/cli/commands.h"
#include "apps/run/run.h"
#include "apps/run/settings.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sluice {

void add_run_command(CLI::App& app, int& exit_code) {
  struct State {
    RunOptions options;
    std::string recipe;
  };
  auto state = std::make_shared<State>();
  CLI::App* run = app.add_subcommand("run", "run a recipe");
  run->add_option("recipe", state->recipe,
                  "name of the recipe (sluice list); with --resume it is known");
  add_run_flags(*run, state->options);
  run->callback([state, &exit_code] {
    bool of_a_program = false;
    if (state->recipe.empty() && !state->options.resume.empty()) {
      auto known = recipe_of_run(state->options.resume);
      if (!known.ok()) {
        exit_code = complain(known.status().message(), 2);
        return;
      }
      state->recipe = *known;
      of_a_program = !known->empty();
    }
    if (state->recipe.empty()) {
      exit_code = complain("which recipe? `sluice list` names them", 2);
      return;
    }
    auto recipe = make_recipe(state->recipe);
    if (recipe.ok()) {
      exit_code = run_recipe(**recipe, state->options);
    } else if (of_a_program) {
      exit_code = complain(fmt::format("'{}' is a run of the program '{}', which is no recipe: "
                                       "resume it with that program",
                                       state->options.resume, state->recipe),
                           2);
    } else {
      exit_code = complain(recipe.status().message(), 2);
    }
  });
}

}  // namespace sluice
