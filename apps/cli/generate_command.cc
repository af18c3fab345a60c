#include "apps/cli/commands.h"
#include "apps/cli/loading_options.h"
#include "apps/observe/progress.h"
#include "dataflow/base/files.h"
#include "inference/batch/batch_job.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace sluice {
namespace {

struct GenerateOptions {
  std::string model;
  std::string prompt;
  BatchOptions batch;
  std::optional<float> temperature;
  std::optional<uint64_t> seed;
  TextModelOptions loading;
  std::string regex;
  std::string schema_file;
  bool ids = false;
};

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// One prompt, its continuations to standard output; a single one as it comes.
Status generate_one(const GenerateOptions& options, TextModel& model) {
  GenRequest request;
  ASSIGN_OR_RETURN(const auto ids, model.tokenizer->encode(options.prompt));
  request.prompt.assign(ids.begin(), ids.end());
  request.sampling = options.batch.sampling;
  request.constraint = options.batch.constraint;
  request.sampling.seed = options.seed;
  const bool stream = request.sampling.n == 1 && !options.ids;
  Completion done;
  GenListener listener;
  if (stream) listener.on_token = [](const TokenEvent& event) { write(event.text); };
  listener.on_done = [&](Completion completion) { done = std::move(completion); };
  ASSIGN_OR_RETURN(const RequestId id,
                   model.engine->submit(std::move(request), std::move(listener)));
  static_cast<void>(id);
  if (stream) write(options.prompt);
  while (model.engine->busy()) RETURN_IF_ERROR(model.engine->step());
  for (const Sample& sample : done.samples) {
    RETURN_IF_ERROR(sample.error);
    if (options.ids) {
      write(fmt::format("{}\n", fmt::join(sample.tokens, ",")));
    } else {
      write(stream ? "\n" : options.prompt + sample.text + "\n");
    }
  }
  return {};
}

/// "12 of 100 prompts  3456 tokens  210 tokens/s  eta 42s".
std::string progress_text(const BatchProgress& progress, double seconds) {
  std::string text = fmt::format("{} of {} prompts", progress.done, progress.prompts);
  if (progress.pruned > 0) text += fmt::format("  {} pruned", progress.pruned);
  if (progress.failed > 0) text += fmt::format("  {} failed", progress.failed);
  text += fmt::format("  {} tokens", progress.tokens);
  if (seconds > 0) {
    text += fmt::format("  {:.0f} tokens/s", static_cast<double>(progress.tokens) / seconds);
  }
  const int64_t own = progress.done - progress.earlier;
  if (own > 0 && progress.done < progress.prompts) {
    const double left = static_cast<double>(progress.prompts - progress.done);
    text += fmt::format("  eta {:.0f}s", seconds * left / static_cast<double>(own));
  }
  return text;
}

Status generate_file(const GenerateOptions& options, TextModel& model) {
  BatchOptions batch = options.batch;
  batch.seed = options.seed.value_or(0);
  const Clock& clock = RealClock::instance();
  const TimeNs start = clock.now();
  const Progress::Options look = Progress::detect(stderr);
  std::optional<StatusLine> line;
  if (look.terminal) line.emplace(stderr);
  TimeNs next = 0;
  const auto show = [&](const BatchProgress& progress) {
    const TimeNs now = clock.now();
    const bool last = progress.done == progress.prompts;
    if (now < next && !last) return;
    next = now + (look.terminal ? 100 * kMillisecond : look.plain_every);
    std::string text = progress_text(progress, static_cast<double>(now - start) / kSecond);
    if (!line) {
      std::fputs((text + "\n").c_str(), stderr);
      return;
    }
    text.resize(std::min(text.size(), look.width > 1 ? look.width - 1 : 1));
    line->show(text);
  };
  const auto encode = [&](const nlohmann::ordered_json& request) { return model.encode(request); };
  ASSIGN_OR_RETURN(const BatchProgress done, run_batch(*model.engine, batch, encode, show));
  if (line) line->end();
  if (done.earlier == done.prompts) {
    std::fprintf(stderr, "%s is complete already\n", batch.output.c_str());
  }
  if (done.failed > 0) {
    std::fprintf(stderr, "%lld of %lld prompts failed: see \"error\" in %s\n",
                 static_cast<long long>(done.failed),
                 static_cast<long long>(done.prompts - done.earlier), batch.output.c_str());
  }
  return {};
}

Result<std::shared_ptr<const Constraint>> constraint_of(const GenerateOptions& options) {
  if (!options.regex.empty()) return Constraint::regex(options.regex);
  if (options.schema_file.empty()) return std::shared_ptr<const Constraint>();
  ASSIGN_OR_RETURN(const std::string schema, read_file(options.schema_file));
  auto made = Constraint::json_schema(schema);
  if (!made.ok()) return made.status().with_context(options.schema_file);
  return made;
}

Status generate(GenerateOptions& options) {
  const bool file = !options.batch.input.empty();
  if (file == !options.prompt.empty()) {
    return invalid_argument("give either a prompt or --input");
  }
  if (!file && options.batch.prune.after > 0) {
    return invalid_argument("--prune-after is for files of prompts (--input)");
  }
  if (file == options.batch.output.empty()) {
    return invalid_argument("--input and --output go together");
  }
  ASSIGN_OR_RETURN(options.batch.constraint, constraint_of(options));
  SamplingParams& sampling = options.batch.sampling;
  // Several samples of the most likely tokens would be the same.
  sampling.temperature = options.temperature.value_or(sampling.n == 1 && !file ? 0.0F : 1.0F);
  ASSIGN_OR_RETURN(TextModel model, TextModel::load(options.model, options.loading));
  return file ? generate_file(options, model) : generate_one(options, model);
}

void add_sampling_options(CLI::App& command, GenerateOptions& options) {
  SamplingParams& sampling = options.batch.sampling;
  sampling.max_tokens = 64;
  command.add_option("--max-tokens", sampling.max_tokens, "tokens to add at most (64)")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  command.add_option("-n,--samples", sampling.n, "continuations of each prompt (1)")
      ->check(CLI::Range(1, SamplingParams::kMaxSamples))
      ->option_text("N");
  command
      .add_option("--temperature", options.temperature,
                  "0: the most likely tokens (1; for one sample of one prompt 0)")
      ->option_text("T");
  command.add_option("--top-k", sampling.top_k, "draw from the k likeliest tokens (0: all)")
      ->option_text("K");
  command.add_option("--top-p", sampling.top_p, "draw from the likeliest of this mass (1)")
      ->option_text("P");
  command.add_option("--min-p", sampling.min_p, "least share of the likeliest's probability (0)")
      ->option_text("P");
  command.add_option("--seed", options.seed, "of the random numbers")->option_text("N");
  command.add_option("--stop", sampling.stop, "text that ends a continuation; may be repeated")
      ->option_text("TEXT");
  command.add_flag("--ignore-eos", sampling.ignore_eos, "end tokens end nothing");
  CLI::Option* regex =
      command.add_option("--regex", options.regex, "texts that match as a whole, nothing else")
          ->option_text("PATTERN");
  command
      .add_option("--json-schema", options.schema_file, "JSON that satisfies the schema of a file")
      ->excludes(regex)
      ->option_text("FILE");
}

}  // namespace

void add_generate_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("generate", "continue a prompt, or a file of prompts");
  auto options = std::make_shared<GenerateOptions>();
  command->add_option("model", options->model, "folder, .gguf file, or name of a fetched model")
      ->required();
  command->add_option("prompt", options->prompt, "text to continue");
  command
      ->add_option("--input", options->batch.input,
                   "file of JSON lines, each with prompt, messages or token_ids")
      ->option_text("FILE");
  command
      ->add_option("--output", options->batch.output,
                   "file of JSON lines, one for each sample; what is there is gone on with")
      ->option_text("FILE");
  command
      ->add_option("--prune-after", options->batch.prune.after,
                   "end samples whose first N tokens are like an earlier one's (0: none)")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text("N");
  command
      ->add_option("--prune-similarity", options->batch.prune.similarity,
                   "share of common 3-grams of tokens from which they are alike (0.7)")
      ->check(CLI::Range(0.01, 1.0))
      ->option_text("S");
  add_sampling_options(*command, *options);
  add_loading_options(*command, options->loading);
  command->add_flag("--ids", options->ids, "print the ids of the new tokens alone");
  command->callback([options, &exit_code] {
    const Status status = generate(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
