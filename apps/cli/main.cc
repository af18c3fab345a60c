#include "apps/recipes/ppo_recipe.h"
#include "apps/run/run.h"

#include <CLI/CLI.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  sluice::recipes().emplace_back(sluice::make_ppo_recipe);
  CLI::App app("Reinforcement learning as a dataflow of actors.", "sluice");
  sluice::RunOptions options;
  std::string recipe;
  CLI::App* run = app.add_subcommand("run", "run a recipe");
  run->add_option("recipe", recipe)->required();
  sluice::add_run_flags(*run, options);
  CLI11_PARSE(app, argc, argv);
  auto made = sluice::make_recipe(recipe);
  if (!made.ok()) {
    std::fprintf(stderr, "error: %s\n", made.status().message().c_str());
    return 2;
  }
  return sluice::run_recipe(**made, options);
}
