#include "apps/cli/commands.h"
#include "models/io/checkpoint.h"
#include "models/io/gguf_writer.h"
#include "models/io/hf_writer.h"
#include "models/io/model_cache.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sluice {
namespace {

struct ConvertOptions {
  std::string source;
  std::string target;
  std::string dtype;
  std::string format;
  std::string max_shard_size = "5GB";
};

/// "5GB", "200MB", "4096": decimal units, as the reference has them.
Result<uint64_t> parse_size(const std::string& text) {
  size_t used = 0;
  double value = 0;
  const auto end = text.find_first_not_of("0123456789.");
  const std::string unit = end == std::string::npos ? "" : text.substr(end);
  used = end == std::string::npos ? text.size() : end;
  char* stop = nullptr;
  value = std::strtod(text.c_str(), &stop);
  double scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "KB") scale = 1e3;
  if (unit == "MB") scale = 1e6;
  if (unit == "GB") scale = 1e9;
  const bool whole = used > 0 && stop == text.c_str() + used;
  if (!whole || scale == 0 || value * scale < 1 || value * scale > 1e18) {
    return invalid_argument("--max-shard-size '{}' is no size; write 500MB or 5GB", text);
  }
  return static_cast<uint64_t>(value * scale);
}

Status convert(const ConvertOptions& options) {
  ASSIGN_OR_RETURN(const uint64_t shard, parse_size(options.max_shard_size));
  ASSIGN_OR_RETURN(const std::string path, resolve_model(options.source));
  ASSIGN_OR_RETURN(const auto from, Checkpoint::open(path));
  const bool named = options.target.ends_with(".gguf");
  if (options.format == "gguf" || (options.format.empty() && named)) {
    std::optional<StoredType> type;
    if (options.dtype == "f32") type = StoredType::F32;
    if (options.dtype == "f16") type = StoredType::F16;
    if (options.dtype == "bf16") type = StoredType::BF16;
    if (options.dtype == "q8_0") type = StoredType::Q8_0;
    return convert_to_gguf(*from, options.target, type.value_or(StoredType::BF16));
  }
  std::optional<at::ScalarType> type;
  if (options.dtype == "f32") type = at::kFloat;
  if (options.dtype == "f16") type = at::kHalf;
  if (options.dtype == "bf16") type = at::kBFloat16;
  if (options.dtype == "q8_0") {
    return invalid_argument("--dtype q8_0 is a type of GGUF: use --format gguf");
  }
  return convert_to_hf(*from, options.target, type, shard);
}

}  // namespace

void add_convert_command(CLI::App& app, int& exit_code) {
  CLI::App* convert_app = app.add_subcommand("convert", "write a model in another format");
  auto options = std::make_shared<ConvertOptions>();
  convert_app
      ->add_option("source", options->source, "folder, .gguf file, or name of a fetched model")
      ->required();
  convert_app->add_option("target", options->target, "new folder or .gguf file")->required();
  convert_app
      ->add_option("--dtype", options->dtype,
                   "type of the weights; without it they stay as they are, and blocks become bf16")
      ->check(CLI::IsMember({"bf16", "f16", "f32", "q8_0"}));
  convert_app
      ->add_option("--format", options->format,
                   "hf or gguf; without it gguf when the target is named so")
      ->check(CLI::IsMember({"hf", "gguf"}));
  convert_app
      ->add_option("--max-shard-size", options->max_shard_size, "largest safetensors file (5GB)")
      ->option_text("SIZE");
  convert_app->callback([options, &exit_code] {
    const Status status = convert(*options);
    exit_code = status.ok() ? 0 : complain(status.message(), 1);
  });
}

}  // namespace sluice
