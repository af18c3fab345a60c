// Tokens per second of the engine over prompts of 2,048 tokens, SmolLM2-135M's shape, random
// weights, 2 threads, held against the rate at which the machine multiplies.
#include "bench/engine_run.h"
#include "bench/hardware.h"
#include "bench/programs.h"

#include <ATen/Parallel.h>

namespace sluice::bench {

Result<Report> run_prefill(const BenchOptions& options) {
  constexpr int kRepeats = 5;
  constexpr int64_t kPrompt = 2048;
  at::set_num_threads(2);
  Report report;
  for (const bool packed : {true, false}) {
    ASSIGN_OR_RETURN(
        auto run, EngineRun::create({.packed = packed, .token_budget = 512, .seed = options.seed}));
    std::vector<double> rates;
    std::vector<double> peaks;
    for (int i = 0; i <= kRepeats; ++i) {
      ASSIGN_OR_RETURN(const auto times, run.run(run.prompts(1, kPrompt), 1));
      if (i > 0) rates.push_back(static_cast<double>(kPrompt) / times.end);
      if (i > 0) peaks.push_back(gemm_peak());
    }
    auto row = BenchResult::of(packed ? "packed_bf16" : "fp32", rates, "tokens/s");
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
  return report;
}

}  // namespace sluice::bench
