#pragma once
#include "dataflow/base/config.h"
#include "dataflow/graph/graph.h"
#include "dataflow/graph/placement.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A graph and where it runs.
struct Program {
  Graph graph;
  Placement placement;
  int64_t max_steps = -1;     ///< steps to train on, as the trainer counts them; -1 = without end
  double step_deadline = 60;  ///< seconds one step of a worker may take, unless the user says
  double grace = 10;          ///< seconds an orderly shutdown may take, unless the user says
};

/// A named way to build a program from typed settings: what `sluice run NAME` runs. One object per
/// run; bind() first, then build().
class Recipe {
 public:
  virtual ~Recipe() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// One line for `sluice list`.
  [[nodiscard]] virtual std::string_view doc() const = 0;
  /// What a flag of its own chooses: `what` is "env", "model", "task" or "staleness". Called before
  /// bind(), so that a recipe can start from settings that suit it. InvalidArgument when the recipe
  /// has no such thing to choose.
  virtual Status choose(std::string_view what, const std::string& value) = 0;
  virtual void bind(ConfigBinder& b) = 0;
  virtual Result<Program> build() = 0;
};

/// A recipe around a graph that is built already: its workers' and channels' fields are its
/// settings.
std::unique_ptr<Recipe> recipe_of(Program program);

using RecipeFactory = std::function<std::unique_ptr<Recipe>()>;
/// All recipes the command knows, in order of name. User programs may add theirs before run().
std::vector<RecipeFactory>& recipes();
/// NotFound names the nearest.
Result<std::unique_ptr<Recipe>> make_recipe(std::string_view name);

}  // namespace sluice
