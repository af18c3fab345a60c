#include "apps/run/run.h"

#include "apps/run/flags.h"
#include "apps/run/session.h"
#include "dataflow/base/files.h"
#include "dataflow/base/log.h"
#include "dataflow/base/random.h"

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>

namespace sluice {
namespace {

int fail(const Status& status, int code) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

Result<RunDir> open_dir(const RunOptions& options, const std::string& recipe) {
  if (!options.resume.empty()) return RunDir::open(options.resume);
  const std::string path =
      options.out.empty() ? RunDir::default_path("runs", recipe, time(nullptr)) : options.out;
  return RunDir::create(path);
}

/// The assignments of environments in a configuration: env="CartPole-v1", ..
std::string env_lines(const std::string& config) {
  std::string out;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);) {
    std::erase(line, ' ');
    if (line.starts_with("env=")) out += (out.empty() ? "" : ", ") + line;
  }
  return out;
}

int run_checked(Recipe& recipe, const RunOptions& options) {
  if (options.help_settings) {
    const auto text = settings_help(recipe, options);
    if (!text.ok()) return fail(text.status(), 2);
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  if (!options.resume.empty() && (!options.out.empty() || !options.choices.empty())) {
    return fail(invalid_argument("--resume goes on with a run as it is: leave out --out, --env, "
                                 "--model, --task and --staleness"),
                2);
  }
  if (!options.resume.empty() && !std::filesystem::exists(options.resume + "/config.toml")) {
    return fail(error(Code::NotFound, "there is no run in '{}' to continue", options.resume), 2);
  }
  const std::string base = options.resume.empty() ? "" : options.resume + "/config.toml";
  auto resolved = resolve(recipe, options, base);
  if (!resolved.ok()) return fail(resolved.status(), 2);
  if (!base.empty()) {
    const auto text = read_file(base);
    if (!text.ok()) return fail(text.status(), 2);
    const std::string before = env_lines(*text);
    if (const std::string now = env_lines(resolved->config); now != before) {
      return fail(
          invalid_argument("--resume goes on with a run as it is: it was begun with {}, not "
                           "with {}; start a new run for another environment",
                           before, now),
          2);
    }
  }
  if (const Status status = resolved->program.graph.check(resolved->program.placement);
      !status.ok()) {
    return fail(status, 2);
  }
  if (options.dry_run) {
    std::fputs(resolved->program.graph.describe(resolved->program.placement).c_str(), stdout);
    return 0;
  }
  auto dir = open_dir(options, std::string(recipe.name()));
  if (!dir.ok()) return fail(dir.status(), 2);
  const auto id = dir->run_id(RandomKey(resolved->seed).split(dir->path()).value());
  if (!id.ok()) {
    if (options.resume.empty()) dir->discard();
    return fail(id.status().with_context("the run cannot start"), 2);
  }
  Session session(*std::move(resolved), options, *std::move(dir), *id);
  return session.run();
}

}  // namespace

int run_recipe(Recipe& recipe, const RunOptions& options) {
  // The setting leaks between threads of this version of LibTorch unless it is read first, once, in
  // the main thread.
  (void)at::get_num_threads();
  at::set_num_threads(1);
  try {
    return run_checked(recipe, options);
  } catch (const std::exception& e) {
    return fail(error(Code::Internal, "{}", e.what()), 1);
  }
}

int run(Graph graph, Placement placement, int argc, char** argv) {
  CLI::App app(graph.name());
  RunOptions options;
  add_run_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return refuse(app, e);
  }
  const auto recipe = recipe_of({std::move(graph), std::move(placement), -1});
  return run_recipe(*recipe, options);
}

}  // namespace sluice
