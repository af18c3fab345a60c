#include "apps/cli/loading_options.h"

#include <CLI/CLI.hpp>

#include <map>

namespace sluice {

void add_loading_options(CLI::App& command, TextModelOptions& options) {
  command.add_option("--device", options.device, "where to compute: cpu, cuda or cuda:N (cpu)")
      ->option_text("DEVICE");
  command.add_flag("--no-graphs{false}", options.graphs, "on a GPU, launch every kernel by itself");
  const std::map<std::string, WeightFormat> weights = {
      {"fp32", WeightFormat::Fp32}, {"bf16", WeightFormat::Bf16}, {"int8", WeightFormat::Int8}};
  command
      .add_option("--weights", options.weights,
                  "fp32 (exact on the CPU), bf16, or on the CPU int8 (fp32)")
      ->transform(CLI::CheckedTransformer(weights))
      ->option_text("FORMAT");
  const std::map<std::string, KvFormat> kv = {
      {"fp32", KvFormat::Fp32}, {"bf16", KvFormat::Bf16}, {"int8", KvFormat::Int8}};
  command
      .add_option("--kv", options.kv,
                  "keys and values on the CPU: fp32 (exact), bf16 or int8 (fp32)")
      ->transform(CLI::CheckedTransformer(kv))
      ->option_text("FORMAT");
  command
      .add_option("--speculate", options.speculate,
                  "guess tokens ahead: ngram, suffix, jacobi, draft=MODEL or heads=FILE")
      ->option_text("HOW");
  command.add_option("--kv-mib", options.kv_mib, "memory for keys and values (1024)")
      ->check(CLI::Range(1, 1 << 24))
      ->option_text("N");
  command.add_option("--threads", options.threads, "threads of the tensor library (2)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
}

}  // namespace sluice
