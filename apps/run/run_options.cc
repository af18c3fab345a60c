#include "apps/run/run_options.h"

#include "apps/run/flags.h"

#include <CLI/CLI.hpp>

namespace sluice {

void add_run_flags(CLI::App& app, RunOptions& options) {
  const auto choice = [&](const std::string& what, const char* doc) {
    return app.add_option_function<std::string>(
        "--" + what, [&options, what](const std::string& v) { options.choices[what] = v; }, doc);
  };
  text(choice("env", "environment, by its registered name"))->option_text("NAME");
  text(choice("model", "language model: folder, .gguf file, or name of a fetched model"))
      ->option_text("MODEL");
  text(choice("task", "what the model is trained on, by its registered name"))->option_text("NAME");
  whole_number(choice("staleness", "versions that a rollout may be behind when it is trained on"),
               0)
      ->option_text("K");
  app.add_option("--set", options.settings, "set one value: --set ppo.gamma=0.98 (may be repeated)")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  text(app.add_option("--config", options.config, "read settings from a TOML file"))
      ->option_text("FILE");
  text(
      app.add_option("--out", options.out, "run directory to make (default: runs/<recipe>-<time>)"))
      ->option_text("DIR");
  text(app.add_option("--resume", options.resume,
                      "go on from the last checkpoint of a run directory"))
      ->option_text("DIR");
  app.add_flag("--dry-run", options.dry_run, "check everything, print the plan, start nothing");
  app.add_flag("--help-settings", options.help_settings,
               "list every key that --set and --config take");
  whole_number(app.add_option_function<int64_t>(
                   "--seed",
                   [&options](const int64_t& seed) {
                     options.seed = static_cast<uint64_t>(seed);
                     options.seed_given = true;
                   },
                   "seed of everything random (default: the run.seed setting, 1)"),
               0)
      ->option_text("N");
  whole_number(
      app.add_option("--max-steps", options.max_steps,
                     "stop this process after so many steps (of environments; updates of a "
                     "language model)"),
      0)
      ->option_text("N");
  seconds(app.add_option("--max-time", options.max_time, "seconds to run at most"), 0, true)
      ->option_text("SECONDS");
  whole_number(app.add_option("--metrics-port", options.metrics_port,
                              "serve Prometheus /metrics on this port of 127.0.0.1 (0 = any free "
                              "one)"),
               0, 65535)
      ->option_text("PORT");
  seconds(app.add_option("--step-deadline", options.step_deadline,
                         "seconds one step of a worker may take before it counts as hung (0 = any; "
                         "default 60, for language models 600)"),
          0)
      ->option_text("SECONDS");
  seconds(app.add_option("--grace", options.grace,
                         "seconds an orderly shutdown may take (default 10, for "
                         "language models 120)"),
          0, true)
      ->option_text("SECONDS");
  app.add_flag("--quiet", options.quiet, "print no progress");
}

}  // namespace sluice
