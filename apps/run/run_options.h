#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice {

/// What every program that runs a graph takes from its command line.
struct RunOptions {
  std::vector<std::string> settings;           ///< --set key=value, in order
  std::string config;                          ///< --config file.toml, read before the settings
  std::map<std::string, std::string> choices;  ///< --env, --model, --task, --staleness: by name
  std::string out;                             ///< --out DIR; empty = runs/<recipe>-<time>
  std::string resume;                          ///< --resume DIR
  bool dry_run = false;
  bool help_settings = false;  ///< --help-settings: list every key and exit
  uint64_t seed = 1;
  bool seed_given = false;
  int64_t max_steps = -1;  ///< as the trainer counts them; -1 = what the recipe says
  double max_time = 0;     ///< seconds; 0 = no limit
  int metrics_port = -1;   ///< -1 = none, 0 = any free one
  double step_deadline =
      -1;              ///< seconds one step of a worker may take; 0 = any, -1 = the program's
  double grace = -1;   ///< seconds an orderly shutdown may take; -1 = the program's
  bool quiet = false;  ///< no progress
};

/// Adds the flags to a command. The options must outlive it.
void add_run_flags(CLI::App& app, RunOptions& options);

}  // namespace sluice
