#include "apps/cli/chat_session.h"
#include "apps/cli/commands.h"
#include "apps/cli/loading_options.h"
#include "apps/run/signals.h"
#include "dataflow/base/waker.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

namespace sluice {
namespace {

struct ChatCommandOptions {
  std::string model;
  std::string system;
  SamplingParams sampling;
  TextModelOptions loading;
};

Status chat(const ChatCommandOptions& options) {
  ASSIGN_OR_RETURN(TextModel model, TextModel::load(options.model, options.loading));
  RETURN_IF_ERROR(model.templates.ok() ? Status() : model.templates.status());
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  Waker waker;
  const SignalWatch signals(waker);
  int seen = 0;  // Ctrl-C before an answer began
  const auto write = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  ChatSession session(model, options.sampling, write, [&] { return signals.count() > seen; });
  if (!options.system.empty()) session.take("/system " + options.system);
  if (terminal) write("/help lists commands, Ctrl-C ends an answer, Ctrl-D leaves\n");
  for (;;) {
    if (terminal) write("> ");
    std::string line;
    if (!std::getline(std::cin, line)) break;
    seen = signals.count();
    if (!session.take(line)) return {};
  }
  if (terminal) write("\n");
  return {};
}

}  // namespace

void add_chat_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("chat", "talk with a model on the terminal");
  auto options = std::make_shared<ChatCommandOptions>();
  SamplingParams& sampling = options->sampling;
  sampling.temperature = 0.2F;
  sampling.top_p = 0.9F;
  sampling.max_tokens = 1024;
  command->add_option("model", options->model, "folder, .gguf file, or name of a fetched model")
      ->required();
  command->add_option("--system", options->system, "instructions for the model")
      ->option_text("TEXT");
  command->add_option("--max-tokens", sampling.max_tokens, "of one answer (1024)")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  command->add_option("--temperature", sampling.temperature, "0: the likeliest words (0.2)")
      ->check(CLI::Range(0.0, 100.0))
      ->option_text("T");
  command->add_option("--top-p", sampling.top_p, "draw from the likeliest of this mass (0.9)")
      ->check(CLI::Range(0.0001, 1.0))
      ->option_text("P");
  command->add_option("--repetition-penalty", sampling.repetition_penalty, "1: none (1)")
      ->check(CLI::Range(0.01, 100.0))
      ->option_text("X");
  command->add_option("--seed", sampling.seed, "of the random numbers")->option_text("N");
  add_loading_options(*command, options->loading);
  command->callback([options, &exit_code] {
    const Status status = chat(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
