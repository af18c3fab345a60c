#pragma once
#include "apps/run/recipe.h"
#include "apps/run/run_options.h"

namespace sluice {

/// The last line of a user's main: takes the flags of RunOptions from the command line and runs the
/// graph. Returns the exit code: 0 ended well, 1 failed, 2 could not start, 130 cut off.
///
///   int main(int argc, char** argv) { return run(my_graph(), Placement::one_process(), argc,
///   argv); }
int run(Graph graph, Placement placement, int argc, char** argv);

/// Runs a recipe with options that were parsed already. Prints what goes wrong to standard error.
int run_recipe(Recipe& recipe, const RunOptions& options);

}  // namespace sluice
