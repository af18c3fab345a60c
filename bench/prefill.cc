// Tokens per second of the engine over prompts of 2,048 tokens, SmolLM2-135M's shape, random
// weights, 2 threads, held against the rate at which the machine multiplies, and against llama.cpp
// at its best weight type.
#include "bench/engine_run.h"
#include "bench/hardware.h"
#include "bench/llama_peer.h"
#include "bench/programs.h"

#include <ATen/Parallel.h>

namespace sluice::bench {

Result<Report> run_prefill(const BenchOptions& options) {
  constexpr int kRepeats = 3;
  constexpr int64_t kPrompt = 2048;
  at::set_num_threads(2);
  struct Kind {
    const char* name;
    bool packed;
    WeightFormat weights;
  };
  constexpr Kind kKinds[] = {{"packed_bf16", true, WeightFormat::Bf16},
                             {"packed_int8", true, WeightFormat::Int8},
                             {"fp32", false, WeightFormat::Fp32}};
  Report report;
  std::vector<double> best;
  for (const Kind& kind : kKinds) {
    ASSIGN_OR_RETURN(auto run, EngineRun::create({.weights = kind.weights,
                                                  .packed = kind.packed,
                                                  .kv_mib = 1024,
                                                  .token_budget = 512,
                                                  .seed = options.seed}));
    std::vector<double> rates;
    std::vector<double> peaks;
    for (int i = 0; i <= kRepeats; ++i) {
      ASSIGN_OR_RETURN(const auto times, run.run(run.prompts(1, kPrompt), 1));
      if (i > 0) rates.push_back(static_cast<double>(kPrompt) / times.end);
      if (i > 0) peaks.push_back(gemm_peak());
    }
    if (median(rates) > median(best)) best = rates;
    auto row = BenchResult::of(kind.name, rates, "tokens/s");
    row.peer = "fp32 product of 1,024";
    // The head multiplies one row only.
    const auto& engine = run.engine();
    const double head = static_cast<double>(engine.model().head().weight.numel());
    const double each = 2 * (static_cast<double>(engine.model().parameters().numel()) - head);
    row.peer_value = median(peaks) / each;
    for (const double peak : peaks) row.peer_repeats.push_back(peak / each);
    row.goal = Goal::at_least_ratio(0.5);
    row.note = "attention is not counted as work";
    report.push_back(std::move(row));
  }
  if (!options.peer_python.empty()) {
    const LlamaWork work = {.prompt = kPrompt, .drawn = 0};
    ASSIGN_OR_RETURN(auto row, beside_llama(options, work, "best_beside_llama", best, 1.2));
    report.push_back(std::move(row));
  }
  return report;
}

}  // namespace sluice::bench
