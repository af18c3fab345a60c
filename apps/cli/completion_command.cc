#include "apps/cli/commands.h"
#include "apps/run/recipe.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace sluice {
namespace {

/// Flags of one subcommand, space separated.
std::string flags_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) out += "--" + name + " ";
  }
  return out;
}

std::string bash_script(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    commands += sub->get_name() + " ";
    cases += "    " + sub->get_name() + ") words=\"" + flags_of(*sub) + "\" ;;\n";
  }
  std::string names;
  for (const auto& make : recipes()) names += std::string(make()->name()) + " ";
  return "_sluice() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  case $before in\n"
         "    --env) COMPREPLY=($(compgen -W \"$(sluice list envs 2>/dev/null)\" -- \"$word\")); "
         "return ;;\n"
         "    --out|--resume|--checkpoint) COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n"
         "    --config|--json) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
         "  esac\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases + "    *) words=\"" + flags_of(*app.get_subcommand("run")) +
         "\" ;;\n"
         "  esac\n"
         "  if ((COMP_CWORD == 1)); then words=\"" +
         commands + names + "--help --version\"; fi\n" +
         "  if ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == run ]]; then words+=\" " + names +
         "\"; fi\n"
         "  if ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == eval ]]; then COMPREPLY=($(compgen -d "
         "-- \"$word\")); return; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -F _sluice sluice\n";
}

}  // namespace

void add_completion_command(CLI::App& app, int& exit_code) {
  CLI::App* completion = app.add_subcommand("completion", "print the completion script of a shell");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash: eval \"$(sluice completion bash)\"")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([&app, shell, &exit_code] {
    if (*shell == "zsh") std::puts("autoload -U +X bashcompinit && bashcompinit");
    std::fputs(bash_script(app).c_str(), stdout);
    exit_code = 0;
  });
}

}  // namespace sluice
