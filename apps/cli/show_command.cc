#include "apps/cli/commands.h"
#include "apps/run/flags.h"
#include "workers/llm/rollout_log.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>

namespace sluice {
namespace {

using Json = nlohmann::json;

struct ShowOptions {
  std::string run;
  int64_t groups = 1;
  int64_t step = -1;
};

/// 256-colour code of a token: green when it was certain, red when it was not.
int colour_of(double logprob) {
  const double p = std::exp(logprob);
  if (p > 0.9) return 34;
  if (p > 0.5) return 148;
  return p > 0.1 ? 214 : 196;
}

/// Escapes what a terminal would take as a command.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else {
      out += byte < 0x20 || byte == 0x7f ? '?' : c;
    }
  }
  return out;
}

void print(const Json& group, bool colours) {
  std::printf("version %lld, prompt %lld\n  %s\n",
              static_cast<long long>(group.at("step").get<int64_t>()),
              static_cast<long long>(group.at("number").get<int64_t>()),
              plain(group.at("prompt").get<std::string>()).c_str());
  for (const Json& completion : group.at("completions")) {
    std::string text;
    for (const Json& token : completion.at("tokens")) {
      const std::string piece = plain(token.at(0).get<std::string>());
      text +=
          colours ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", colour_of(token.at(1)), piece) : piece;
    }
    const std::string reward = completion.at("failed").get<bool>()
                                   ? "failed"
                                   : fmt::format("{:.3f}", completion.at("reward").get<double>());
    std::printf("  %8s  %s%s\n", reward.c_str(), text.c_str(),
                completion.at("truncated").get<bool>() ? " ..." : "");
  }
}

Status show(const ShowOptions& options) {
  const std::string path = options.run + "/" + RolloutLog::kFile;
  std::ifstream in(path);
  if (!in) return error(Code::NotFound, "there are no rollouts in '{}'", options.run);
  std::deque<Json> last;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    Json group = Json::parse(line, nullptr, false);
    if (group.is_discarded()) {
      if (in.peek() == EOF) break;  // the run was cut off while it wrote
      return error(Code::DataLoss, "{}:{}: no JSON", path, number);
    }
    if (options.step >= 0 && group.value("step", int64_t{-1}) != options.step) continue;
    last.push_back(std::move(group));
    if (std::ssize(last) > options.groups) last.pop_front();
  }
  if (last.empty()) return error(Code::NotFound, "{} has no such group", path);
  try {
    for (const Json& group : last) print(group, ::isatty(STDOUT_FILENO) != 0);
  } catch (const nlohmann::json::exception& e) {
    return error(Code::DataLoss, "{}: {}", path, e.what());
  }
  return {};
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "show",
      "print completions that a run trained on, with rewards; on a terminal tokens are "
      "coloured by how likely they were");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("run", options->run, "run directory")->required();
  whole_number(command->add_option("--groups", options->groups, "the last so many (1)"), 1)
      ->option_text("N");
  whole_number(command->add_option("--step", options->step, "only those of this version"), 0)
      ->option_text("N");
  command->callback([options, &exit_code] {
    const Status status = show(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
