#include "apps/cli/commands.h"
#include "apps/cli/loading_options.h"
#include "apps/run/signals.h"
#include "dataflow/base/waker.h"
#include "inference/server/llm_server.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace sluice {
namespace {

struct ServeOptions {
  std::string model;
  std::string served_name;
  TextModelOptions loading;
  LlmServerOptions server;
};

/// Until Ctrl-C; then what is under way may end, until Ctrl-C again.
void wait_for_the_end(LlmServer& server) {
  Waker waker;
  const SignalWatch signals(waker);
  bool draining = false;
  for (;;) {
    const auto seen = waker.epoch();
    const int count = signals.count();
    if (count > 1 || (draining && server.drained())) return;
    if (count == 1 && !draining) {
      draining = true;
      server.drain();
      std::fputs("finishing what is under way; Ctrl-C again stops now\n", stderr);
      continue;
    }
    const TimeNs pause = draining ? 20 * kMillisecond : 10 * kSecond;
    waker.wait(seen, after(RealClock::instance().now(), pause));
  }
}

Status serve(const ServeOptions& options) {
  ASSIGN_OR_RETURN(TextModel text, TextModel::load(options.model, options.loading));
  const TransformerConfig& config = text.engine->model().config();
  ServedModel model;
  model.name = options.served_name;
  if (model.name.empty()) model.name = std::filesystem::path(options.model).filename().string();
  if (model.name.empty()) model.name = options.model;
  model.vocabulary =
      std::min(config.vocab_size, static_cast<int64_t>(text.tokenizer->vocab_size()));
  model.max_length = text.engine->longest_sequence();
  model.longest_token = longest_token(*text.tokenizer);
  model.tokenizer = text.tokenizer;
  model.templates = std::move(text.templates);
  const std::string name = model.name;
  ASSIGN_OR_RETURN(const auto server,
                   LlmServer::start(std::move(text.engine), std::move(model), options.server));
  std::printf("%s at http://%s:%d\n", name.c_str(), options.server.host.c_str(), server->port());
  std::fflush(stdout);
  wait_for_the_end(*server);
  server->stop();
  return {};
}

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("serve", "answer HTTP requests as OpenAI's completion services do");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("model", options->model, "folder, .gguf file, or name of a fetched model")
      ->required();
  command->add_option("--host", options->server.host, "address to listen on (127.0.0.1)")
      ->option_text("ADDRESS");
  command->add_option("--port", options->server.port, "0: any free one, printed (8000)")
      ->check(CLI::Range(0, 65535))
      ->option_text("N");
  command
      ->add_option("--api-key", options->server.api_key,
                   "clients must send it; needed on addresses that others can reach")
      ->envname("SLUICE_API_KEY")
      ->option_text("KEY");
  command->add_option("--served-name", options->served_name, "what clients call the model")
      ->option_text("NAME");
  command
      ->add_option("--max-queue", options->server.max_queue,
                   "samples that may wait; more hear 429 (256)")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  command
      ->add_option("--max-connections", options->server.max_connections,
                   "open at a time; more hear 503 (512)")
      ->check(CLI::Range(1, 1 << 14))
      ->option_text("N");
  add_loading_options(*command, options->loading);
  command->callback([options, &exit_code] {
    const Status status = serve(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
