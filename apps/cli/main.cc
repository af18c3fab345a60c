#include "apps/cli/commands.h"
#include "apps/recipes/ppo_recipe.h"
#include "apps/run/flags.h"
#include "apps/run/recipe.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace sluice {

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

namespace {

/// `sluice ppo ...` is short for `sluice run ppo ...`.
std::vector<std::string> expand(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && make_recipe(words[0]).ok()) words.insert(words.begin(), "run");
  return {words.rbegin(), words.rend()};  // CLI11 takes them last first
}

int command(int argc, char** argv) {
  recipes().emplace_back(make_ppo_recipe);
  int exit_code = 0;
  CLI::App app("Sluice: reinforcement learning as a dataflow of actors.", "sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer("`sluice RECIPE ...` is short for `sluice run RECIPE ...`.");
  add_run_command(app, exit_code);
  add_list_command(app, exit_code);
  add_eval_command(app, exit_code);
  add_fetch_command(app, exit_code);
  add_inspect_command(app, exit_code);
  add_generate_command(app, exit_code);
  add_chat_command(app, exit_code);
  add_serve_command(app, exit_code);
  add_convert_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_tokenize_command(app, exit_code);
  add_doctor_command(app, exit_code);
  add_completion_command(app, exit_code);
  add_chat_template_command(app, exit_code);
  try {
    app.parse(expand(argc, argv));
  } catch (const CLI::ParseError& e) {
    return refuse(app, e);
  }
  return exit_code;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  try {
    return sluice::command(argc, argv);
  } catch (const std::exception& e) {
    return sluice::complain(e.what(), 1);
  }
}
