#include "apps/cli/commands.h"
#include "apps/run/recipe.h"
#include "envs/registry.h"
#include "envs/text/registry.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace sluice {

void add_list_command(CLI::App& app, int& exit_code) {
  CLI::App* list =
      app.add_subcommand("list", "name the recipes, environments and tasks of language models");
  auto what = std::make_shared<std::string>();
  list->add_option("what", *what, "only these, one name a line")
      ->check(CLI::IsMember({"recipes", "envs", "tasks"}));
  list->callback([what, &exit_code] {
    const bool plain = !what->empty();
    if (!plain || *what == "recipes") {
      if (!plain) std::puts("recipes");
      for (const auto& make : recipes()) {
        const auto recipe = make();
        if (plain) {
          std::puts(std::string(recipe->name()).c_str());
        } else {
          std::printf("  %-14s %s\n", std::string(recipe->name()).c_str(),
                      std::string(recipe->doc()).c_str());
        }
      }
    }
    if (!plain || *what == "envs") {
      if (!plain) std::puts("environments");
      for (const auto& name : env_names()) {
        const auto spec = env_spec(name);
        if (plain || !spec.ok()) {
          std::puts(name.c_str());
        } else {
          std::printf("  %-14s observes %s, acts %s\n", name.c_str(),
                      spec->observation.to_string().c_str(),
                      spec->action.kind == ActionSpec::Kind::Discrete
                          ? fmt::format("1 of {}", spec->action.n).c_str()
                          : spec->action.tensor().to_string().c_str());
        }
      }
    }
    if (!plain || *what == "tasks") {
      if (!plain) std::puts("tasks of language models");
      for (const auto& name : text_task_names()) std::puts(((plain ? "" : "  ") + name).c_str());
    }
    exit_code = 0;
  });
}

}  // namespace sluice
