#include "apps/cli/commands.h"
#include "apps/recipes/group_recipe.h"
#include "apps/recipes/ppo_recipe.h"
#include "apps/run/flags.h"
#include "apps/run/recipe.h"

#include <CLI/CLI.hpp>
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace sluice {
namespace {

/// Whoever starts us may have closed some of the three: the next file that is opened would get the
/// number, and what is printed would go into it.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    // The lowest free number is given, so it is this one.
    if (::fcntl(fd, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY));
  }
}

/// `sluice ppo ...` is short for `sluice run ppo ...`.
std::vector<std::string> expand(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && make_recipe(words[0]).ok()) words.insert(words.begin(), "run");
  return {words.rbegin(), words.rend()};  // CLI11 takes them last first
}

int command(int argc, char** argv) {
  for (const std::string& name : group_recipe_names()) {
    recipes().emplace_back([name] { return make_group_recipe(name); });
  }
  recipes().emplace_back(make_ppo_recipe);
  std::sort(recipes().begin(), recipes().end(),
            [](const auto& a, const auto& b) { return a()->name() < b()->name(); });
  int exit_code = 0;
  CLI::App app("Sluice: reinforcement learning as a dataflow of actors.", "sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer("`sluice RECIPE ...` is short for `sluice run RECIPE ...`.");
  add_run_command(app, exit_code);
  add_list_command(app, exit_code);
  add_eval_command(app, exit_code);
  add_export_command(app, exit_code);
  add_fetch_command(app, exit_code);
  add_inspect_command(app, exit_code);
  add_generate_command(app, exit_code);
  add_chat_command(app, exit_code);
  add_serve_command(app, exit_code);
  add_show_command(app, exit_code);
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
  sluice::open_standard_streams();
  int code = 0;
  try {
    code = sluice::command(argc, argv);
  } catch (const std::exception& e) {
    // What LibTorch throws goes on with a trace of its calls.
    const std::string what = e.what();
    return sluice::complain(what.substr(0, what.find('\n')), 1);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return sluice::complain("cannot write to standard output", code == 0 ? 1 : code);
  }
  return code;
}
