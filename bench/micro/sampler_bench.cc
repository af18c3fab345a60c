// Time to draw one token from a row of 49,152 logits (SmolLM2's vocabulary).
#include "dataflow/base/random.h"
#include "inference/sampler/sampler.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace sluice {
namespace {

constexpr int64_t kVocabulary = 49'152;

/// Normal logits, steep as those of a language model that is fairly sure (scale 3), or flat.
std::vector<float> row(float scale) {
  std::vector<float> out(kVocabulary);
  for (size_t i = 0; i < out.size(); ++i) out[i] = scale * RandomKey(3).normal(i)[0];
  return out;
}

void draw(benchmark::State& state, const SamplingParams& params, float scale) {
  const std::vector<float> logits = row(scale);
  TokenCounts counts;
  for (int64_t i = 0; i < 500; ++i) counts.add_output((i * 37) % kVocabulary);
  TokenSampler sampler;
  uint64_t position = 0;
  for (auto _ : state) {
    const auto drawn = sampler.sample(logits, params, counts, 7, 0, position++);
    SLUICE_CHECK(drawn.ok()) << drawn.status().message();
    benchmark::DoNotOptimize(drawn->token);
  }
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

SamplingParams with(float temperature, int32_t top_k = 0, float top_p = 1, float min_p = 0) {
  SamplingParams out;
  out.temperature = temperature;
  out.top_k = top_k;
  out.top_p = top_p;
  out.min_p = min_p;
  return out;
}
SamplingParams penalised() {
  SamplingParams out = with(0.8F, 50, 0.9F);
  out.repetition_penalty = 1.1F;
  out.presence_penalty = 0.5F;
  return out;
}

BENCHMARK_CAPTURE(draw, greedy, with(0), 3.0F);
BENCHMARK_CAPTURE(draw, plain, with(1), 3.0F);
BENCHMARK_CAPTURE(draw, temperature, with(0.8F), 3.0F);
BENCHMARK_CAPTURE(draw, top_k_50, with(0.8F, 50), 3.0F);
BENCHMARK_CAPTURE(draw, top_k_50_top_p_0_9, with(0.8F, 50, 0.9F), 3.0F);
BENCHMARK_CAPTURE(draw, top_p_0_9, with(0.8F, 0, 0.9F), 3.0F);
BENCHMARK_CAPTURE(draw, top_p_0_9_flat, with(1, 0, 0.9F), 0.5F);
BENCHMARK_CAPTURE(draw, min_p_0_05, with(0.8F, 0, 1, 0.05F), 3.0F);
BENCHMARK_CAPTURE(draw, penalties_top_k_50_top_p_0_9, penalised(), 3.0F);

}  // namespace
}  // namespace sluice

BENCHMARK_MAIN();
