#include "apps/run/recipe.h"

#include "dataflow/base/nearest.h"

#include <fmt/ranges.h>

namespace sluice {
namespace {

class GraphRecipe final : public Recipe {
 public:
  explicit GraphRecipe(Program program)
      : program_(std::move(program)), name_(program_.graph.name()) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view doc() const override { return "a graph built in C++"; }
  Status choose(std::string_view what, const std::string& /*value*/) override {
    return invalid_argument("this program chooses its {} in C++; use --set <worker>.{}=", what,
                            what);
  }
  void bind(ConfigBinder& /*b*/) override {}
  Result<Program> build() override { return std::move(program_); }

 private:
  Program program_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Recipe> recipe_of(Program program) {
  return std::make_unique<GraphRecipe>(std::move(program));
}

std::vector<RecipeFactory>& recipes() {
  static std::vector<RecipeFactory> all;
  return all;
}

Result<std::unique_ptr<Recipe>> make_recipe(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& make : recipes()) {
    auto made = make();
    if (made->name() == name) return made;
    names.emplace_back(made->name());
  }
  const std::string hint = did_you_mean(name, names);
  return error(Code::NotFound, "no recipe '{}'{} Known: {}", name, hint.empty() ? "." : hint,
               fmt::join(names, ", "));
}

}  // namespace sluice
