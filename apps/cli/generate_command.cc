#include "apps/cli/commands.h"
#include "models/io/checkpoint.h"
#include "models/io/load_tokenizer.h"
#include "models/io/model_cache.h"
#include "models/tokenizer/tokenizer.h"
#include "models/transformer/greedy.h"
#include "models/transformer/loading.h"

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace sluice {
namespace {

struct GenerateOptions {
  std::string model;
  std::string prompt;
  int64_t max_tokens = 64;
  int threads = 2;
  bool ids = false;
};

/// The ids that end a text: of generation_config.json, else of config.json; one or a list.
std::vector<int64_t> end_tokens(const Checkpoint& checkpoint) {
  for (const nlohmann::json* config : {&checkpoint.generation_config(), &checkpoint.config()}) {
    if (!config->is_object() || !config->contains("eos_token_id")) continue;
    const nlohmann::json& end = (*config)["eos_token_id"];
    std::vector<int64_t> ids;
    if (end.is_number_integer()) ids.push_back(end.get<int64_t>());
    for (const auto& id : end.is_array() ? end : nlohmann::json::array()) {
      if (id.is_number_integer()) ids.push_back(id.get<int64_t>());
    }
    if (!ids.empty()) return ids;
  }
  return {};
}

void write(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

Status generate(const GenerateOptions& options) {
  static_cast<void>(at::get_num_threads());  // the first call undoes an earlier setting
  at::set_num_threads(options.threads);
  ASSIGN_OR_RETURN(const std::string path, resolve_model(options.model));
  ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  ASSIGN_OR_RETURN(const auto tokenizer, load_tokenizer(path));
  ASSIGN_OR_RETURN(const Transformer model, load_transformer(*checkpoint));
  ASSIGN_OR_RETURN(const auto prompt, tokenizer->encode(options.prompt));
  StreamDecoder text = tokenizer->stream();
  GreedyOptions how;
  how.max_tokens = options.max_tokens;
  how.stop = end_tokens(*checkpoint);
  if (!options.ids) {
    write(options.prompt);
    how.on_token = [&](int64_t token) {
      write(text.put(static_cast<TokenId>(token)));
      return true;
    };
  }
  ASSIGN_OR_RETURN(const auto ids, greedy(model, {prompt.begin(), prompt.end()}, how));
  write(options.ids ? fmt::format("{}\n", fmt::join(ids, ",")) : text.finish() + "\n");
  return {};
}

}  // namespace

void add_generate_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("generate", "continue a prompt with the most likely tokens");
  auto options = std::make_shared<GenerateOptions>();
  command->add_option("model", options->model, "folder, .gguf file, or name of a fetched model")
      ->required();
  command->add_option("prompt", options->prompt, "text to continue")->required();
  command->add_option("--max-tokens", options->max_tokens, "tokens to add at most (64)")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  command->add_option("--threads", options->threads, "threads of the tensor library (2)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  command->add_flag("--ids", options->ids, "print the ids of the new tokens alone");
  command->callback([options, &exit_code] {
    const Status status = generate(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
