#include "apps/cli/commands.h"
#include "apps/run/flags.h"
#include "bench/command.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sluice {

void add_bench_command(CLI::App& app, int& exit_code) {
  CLI::App* bench = app.add_subcommand("bench", "measure something and print a table");
  auto command = std::make_shared<bench::BenchCommand>();
  bench->add_option("name", command->name, "which benchmark");
  bench->add_flag("--list", command->list, "name them all");
  text(bench->add_option("--json", command->json,
                         "also write one JSON object (- = standard output)"))
      ->option_text("FILE");
  text(bench->add_option("--peer-python", command->options.peer_python,
                         "interpreter of the peers (scripts/peers.sh makes one)"))
      ->option_text("PATH");
  seconds(bench->add_option("--seconds", command->options.seconds, "about how long to measure"), 0,
          true)
      ->option_text("S");
  whole_number(bench->add_option("--seed", command->options.seed, "seed of the runs"), 0)
      ->option_text("N");
  bench->callback([command, &exit_code] { exit_code = bench::run_bench_command(*command); });
}

}  // namespace sluice
