// Tokens per second of the engine while it decodes, SmolLM2-135M's shape, random weights, 2
// threads. decode-1: one sequence, bf16 and int8 weights, held against the rate at which the
// weights could be read from memory (measured in the same run). decode-64 and decode-256: that many
// sequences at once, 128-token prompts, 128 new tokens; held against `transformers` generate at its
// best batch, against llama.cpp at its best weight type, and against the rate at which the machine
// multiplies (with a goal for the largest batch only).
#include "bench/engine_run.h"
#include "bench/hardware.h"
#include "bench/llama_peer.h"
#include "bench/peer.h"
#include "bench/programs.h"

#include <ATen/Parallel.h>

namespace sluice::bench {
namespace {

constexpr int kThreads = 2;
constexpr int kRepeats = 3;
constexpr int64_t kPrompt = 128;
constexpr int32_t kNew = 128;

const char* name_of(WeightFormat format) {
  return format == WeightFormat::Bf16 ? "bf16" : format == WeightFormat::Int8 ? "int8" : "fp32";
}

/// Decode rates of a batch, alternated with what `between` measures.
template <class Between>
Result<std::vector<double>> rates(EngineRun& run, int64_t batch, const Between& between) {
  std::vector<double> found;
  for (int i = 0; i <= kRepeats; ++i) {
    ASSIGN_OR_RETURN(const auto times, run.run(run.prompts(batch, kPrompt), kNew));
    if (i > 0) found.push_back(times.decode_rate());
    between();
  }
  return found;
}

/// Multiply-adds per token count twice.
double flops_per_token(const Engine& engine) {
  return 2. * static_cast<double>(engine.model().parameters().numel());
}

Result<Report> batched(const BenchOptions& options, int64_t batch) {
  at::set_num_threads(kThreads);
  ASSIGN_OR_RETURN(auto run, EngineRun::create({.seed = options.seed}));
  std::vector<double> peaks;
  ASSIGN_OR_RETURN(const auto ours, rates(run, batch, [&] { peaks.push_back(gemm_peak() / 1e9); }));
  auto rate = BenchResult::of("decode", ours, "tokens/s");
  rate.note = fmt::format("{} sequences, bf16 weights", batch);
  if (!options.peer_python.empty()) {
    ASSIGN_OR_RETURN(const auto peer,
                     run_peer(options, "transformers_generate.py",
                              {"--threads", std::to_string(kThreads), "--prompt",
                               std::to_string(kPrompt), "--new", std::to_string(kNew)}));
    rate.peer = peer.peer + " " + peer.version;
    rate.peer_value = peer.value;
    rate.peer_repeats = peer.repeats;
    rate.goal = Goal::at_least_ratio(5);
    rate.note += "; peer: " + peer.settings;
  }
  auto share = BenchResult::once("of_gemm_peak", median(ours) * flops_per_token(run.engine()) / 1e9,
                                 "GFLOP/s");
  share.peer = "fp32 product of 1,024";
  share.peer_value = median(peaks);
  share.peer_repeats = peaks;
  if (batch == 256) share.goal = Goal::at_least_ratio(0.3);
  Report report{rate, share};
  if (!options.peer_python.empty()) {
    const LlamaWork work = {.batch = batch, .prompt = kPrompt, .drawn = kNew};
    ASSIGN_OR_RETURN(auto row, beside_llama(options, work, "beside_llama", ours, 1.2));
    report.push_back(std::move(row));
  }
  return report;
}

}  // namespace

Result<Report> run_decode_1(const BenchOptions& options) {
  at::set_num_threads(kThreads);
  Report report;
  for (const WeightFormat format : {WeightFormat::Bf16, WeightFormat::Int8, WeightFormat::Fp32}) {
    ASSIGN_OR_RETURN(auto run, EngineRun::create({.weights = format, .seed = options.seed}));
    std::vector<double> bounds;
    ASSIGN_OR_RETURN(const auto ours, rates(run, 1, [&] {
                       bounds.push_back(read_bandwidth() / static_cast<double>(run.weight_bytes()));
                     }));
    auto row = BenchResult::of(name_of(format), ours, "tokens/s");
    row.peer = "reading the weights";
    row.peer_value = median(bounds);
    row.peer_repeats = bounds;
    row.note = fmt::format("{:.0f} MB of weights", static_cast<double>(run.weight_bytes()) / 1e6);
    if (format != WeightFormat::Fp32) row.goal = Goal::at_least_ratio(0.7);
    report.push_back(std::move(row));
    if (options.peer_python.empty() || format == WeightFormat::Fp32) continue;
    const LlamaWork work = {.prompt = kPrompt,
                            .drawn = kNew,
                            .types = format == WeightFormat::Bf16 ? "bf16,f16" : "q8_0"};
    ASSIGN_OR_RETURN(
        auto beside,
        beside_llama(options, work, fmt::format("{}_beside_llama", name_of(format)), ours, 1));
    report.push_back(std::move(beside));
  }
  return report;
}

Result<Report> run_decode_64(const BenchOptions& options) { return batched(options, 64); }
Result<Report> run_decode_256(const BenchOptions& options) { return batched(options, 256); }

}  // namespace sluice::bench
