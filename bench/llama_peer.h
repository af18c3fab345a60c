#pragma once
#include "bench/bench.h"

#include <string>
#include <vector>

namespace sluice::bench {

/// `ours` (tokens/s) beside llama.cpp at the best of `types`: `batch` sequences at once, `prompt`
/// tokens each, `drawn` new ones, or 0 to measure the prompts.
struct LlamaWork {
  int64_t batch = 1;
  int64_t prompt = 128;
  int32_t drawn = 128;
  std::string types = "bf16,f16,q8_0";
};
Result<BenchResult> beside_llama(const BenchOptions& options, const LlamaWork& work,
                                 const std::string& metric, std::vector<double> ours, double goal);

}  // namespace sluice::bench
