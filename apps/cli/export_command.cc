#include "apps/cli/commands.h"
#include "apps/observe/checkpoint_store.h"
#include "apps/run/settings.h"
#include "models/io/checkpoint.h"
#include "models/io/hf_writer.h"
#include "models/io/model_cache.h"
#include "workers/llm/saved_model.h"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>

namespace sluice {
namespace {

struct ExportOptions {
  std::string run;
  std::string target;
  std::string checkpoint;
  std::string dtype;
};

Result<SavedModel> load_model(const ExportOptions& options) {
  ASSIGN_OR_RETURN(const std::string recipe, recipe_of_run(options.run));
  const CheckpointStore store(options.run + "/checkpoints", recipe);
  auto loaded = options.checkpoint.empty() ? store.load_latest() : store.load(options.checkpoint);
  if (!loaded.ok()) return loaded.status();
  for (const auto& [name, snapshot] : loaded->workers) {
    if (SavedModel::in(snapshot)) return SavedModel::load(snapshot);
  }
  return error(Code::NotFound, "{} holds no language model", loaded->path);
}

Status export_model(const ExportOptions& options) {
  ASSIGN_OR_RETURN(const SavedModel model, load_model(options));
  ASSIGN_OR_RETURN(const std::string path, resolve_model(model.base));
  ASSIGN_OR_RETURN(const auto base, Checkpoint::open(path));
  std::map<std::string, at::Tensor> trained;
  for (const auto& entry : model.weights) trained.emplace(entry.name, entry.tensor);
  std::optional<at::ScalarType> type;
  if (options.dtype == "f32") type = at::kFloat;
  if (options.dtype == "bf16") type = at::kBFloat16;
  return convert_to_hf(*base, options.target, type, kDefaultShardBytes,
                       [&](const std::string& name) {
                         const auto found = trained.find(name);
                         return found == trained.end() ? at::Tensor() : found->second;
                       });
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("export", "write the language model of a run as a Hugging Face folder");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("run", options->run, "run directory")->required();
  command->add_option("target", options->target, "new folder")->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "folder of one checkpoint (default: the newest that is whole)")
      ->option_text("DIR");
  command
      ->add_option("--dtype", options->dtype,
                   "type of the weights (default: that of the model it was trained from)")
      ->check(CLI::IsMember({"bf16", "f32"}));
  command->callback([options, &exit_code] {
    const Status status = export_model(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
