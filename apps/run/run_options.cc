#include "apps/run/run_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace sluice {
namespace {

constexpr double kMaxSeconds = 1e9;  // more does not count in nanoseconds

// Not CLI's own range: that lets NaN through.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds <= kMaxSeconds) return {};
  return "'" + text + "' is no number of seconds from 0 to 1e9";
}

}  // namespace

void add_run_flags(CLI::App& app, RunOptions& options) {
  app.add_option("--env", options.env, "environment, by its registered name")->option_text("NAME");
  app.add_option("--set", options.settings, "set one value: --set ppo.gamma=0.98 (may be repeated)")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--config", options.config, "read settings from a TOML file")->option_text("FILE");
  app.add_option("--out", options.out, "run directory to make (default: runs/<recipe>-<time>)")
      ->option_text("DIR");
  app.add_option("--resume", options.resume, "go on from the last checkpoint of a run directory")
      ->option_text("DIR");
  app.add_flag("--dry-run", options.dry_run, "check everything, print the plan, start nothing");
  app.add_flag("--help-settings", options.help_settings,
               "list every key that --set and --config take");
  app.add_option_function<uint64_t>(
         "--seed",
         [&options](const uint64_t& seed) {
           options.seed = seed;
           options.seed_given = true;
         },
         "seed of everything random (default 1)")
      ->option_text("N");
  app.add_option("--max-steps", options.max_steps, "environment steps to train on")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max-time", options.max_time, "seconds to run at most")
      ->option_text("SECONDS")
      ->check(check_seconds)
      ->check(CLI::PositiveNumber);
  app.add_option("--metrics-port", options.metrics_port,
                 "serve Prometheus /metrics on this port of 127.0.0.1 (0 = any free one)")
      ->option_text("PORT")
      ->check(CLI::Range(0, 65535));
  app.add_option("--step-deadline", options.step_deadline,
                 "seconds one step of a worker may take before it counts as hung (0 = any)")
      ->option_text("SECONDS")
      ->check(check_seconds);
  app.add_option("--grace", options.grace, "seconds an orderly shutdown may take")
      ->option_text("SECONDS")
      ->check(check_seconds)
      ->check(CLI::PositiveNumber);
  app.add_flag("--quiet", options.quiet, "print no progress");
}

}  // namespace sluice
