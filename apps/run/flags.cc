#include "apps/run/flags.h"

#include "dataflow/base/config_text.h"
#include "dataflow/base/nearest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace sluice {
namespace {

constexpr double kMaxSeconds = 1e9;  // far fewer nanoseconds than kForever

/// Checks the text of a value; may change it into one that CLI11 understands.
using Check = std::function<std::string(std::string& text)>;

CLI::Option* checked(CLI::Option* option, Check check) {
  return option->check(CLI::Validator(std::move(check), ""));
}

/// Flags of a command and of the subcommand in use, and names of subcommands.
void collect(const CLI::App& app, std::vector<std::string>& flags,
             std::vector<std::string>& commands) {
  for (const CLI::Option* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands(nullptr)) commands.push_back(sub->get_name());
  for (const CLI::App* sub : app.get_subcommands()) collect(*sub, flags, commands);
}

std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return "";
  std::vector<std::string> flags;
  std::vector<std::string> commands;
  collect(app, flags, commands);
  const std::string& word = rest.front();
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown flag '{}'{}", name, did_you_mean(name, flags));
  }
  if (!commands.empty() && app.get_subcommands().empty()) {
    return fmt::format("unknown command '{}'{}", word, did_you_mean(word, commands));
  }
  return fmt::format("unexpected argument '{}'", word);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

CLI::Option* text(CLI::Option* option) {
  return checked(option, [](std::string& text) -> std::string {
    return text.empty() ? "must not be empty" : "";
  });
}

CLI::Option* whole_number(CLI::Option* option, int64_t low, int64_t high) {
  option->transform(CLI::Validator(
      [low, high](std::string& text) -> std::string {
        const auto value = parse_int(text);
        if (value && *value >= low && *value <= high) {
          text = fmt::format("{}", *value);
          return "";
        }
        const std::string limits = high == INT64_MAX ? fmt::format("of at least {}", low)
                                                     : fmt::format("from {} to {}", low, high);
        return fmt::format("'{}' is not a whole number {}", text, limits);
      },
      ""));
  return option;
}

CLI::Option* seconds(CLI::Option* option, double low, bool open) {
  return checked(option, [low, open](std::string& text) -> std::string {
    const auto value = parse_double(text);
    if (value && *value > kMaxSeconds) {
      return fmt::format("'{}' seconds are more than {}", text, kMaxSeconds);
    }
    if (value && (open ? *value > low : *value >= low)) return "";
    return fmt::format("'{}' is not a number {} {}", text, open ? "above" : "of at least", low);
  });
}

int refuse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string why;
  // A word that is not understood also makes what should stand in its place missing.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    why = unexpected(app);
  }
  if (why.empty()) why = one_line(error.what());
  std::fprintf(stderr, "error: %s (see --help)\n", why.c_str());
  return 2;
}

}  // namespace sluice
