// What sequences gain from sharing keys and values, SmolLM2-135M's shape, random weights, 2
// threads. group: 64 prompts of 128 tokens, 8 samples each, against 512 requests of one sample
// without a prefix cache; 4 of the model's 30 layers, so that the 65,536 prompt tokens of the
// latter do not take minutes. The head weighs more then, which speaks against forking. prefix: 64
// requests whose 1,024 first tokens are the same: seconds to the first token of a late one, against
// the first.
#include "bench/engine_run.h"
#include "bench/programs.h"

#include <ATen/Parallel.h>

namespace sluice::bench {

Result<Report> run_group(const BenchOptions& options) {
  constexpr int kRepeats = 3;
  constexpr int64_t kPrompts = 64;
  constexpr int32_t kSamples = 8;
  constexpr int32_t kNew = 16;
  at::set_num_threads(2);
  ASSIGN_OR_RETURN(auto run,
                   EngineRun::create({.layers = 4, .kv_mib = 2048, .seed = options.seed}));
  RETURN_IF_ERROR(run.run(run.prompts(4, 128), kNew, kSamples).status());  // warm-up
  std::vector<double> forked;
  std::vector<double> alone;
  for (int i = 0; i < kRepeats; ++i) {
    const auto prompts = run.prompts(kPrompts, 128);
    std::vector<std::vector<int64_t>> repeated;
    for (const auto& prompt : prompts) repeated.insert(repeated.end(), kSamples, prompt);
    ASSIGN_OR_RETURN(const auto together, run.run(prompts, kNew, kSamples));
    ASSIGN_OR_RETURN(const auto apart, run.run(repeated, kNew));
    forked.push_back(static_cast<double>(together.tokens) / together.end);
    alone.push_back(static_cast<double>(apart.tokens) / apart.end);
  }
  auto row = BenchResult::of("forked", forked, "tokens/s");
  row.peer = "without forking";
  row.peer_value = median(alone);
  row.peer_repeats = alone;
  row.goal = Goal::at_least_ratio(1.5);
  row.note = fmt::format("{} prompts of 128 tokens x {} samples of {} tokens, 4 layers", kPrompts,
                         kSamples, kNew);
  return Report{row};
}

Result<Report> run_prefix(const BenchOptions& options) {
  constexpr int kRepeats = 5;
  constexpr int64_t kShared = 1024;
  at::set_num_threads(2);
  ASSIGN_OR_RETURN(auto run, EngineRun::create({.prefix_cache = true, .seed = options.seed}));
  std::vector<double> warm;
  std::vector<double> cold;
  for (int i = 0; i <= kRepeats; ++i) {
    const auto shared = run.prompts(1, kShared).front();
    double first = 0;
    std::vector<double> later;
    for (int r = 0; r < 64; ++r) {
      auto prompt = shared;
      const auto own = run.prompts(1, 16).front();
      prompt.insert(prompt.end(), own.begin(), own.end());
      ASSIGN_OR_RETURN(const auto times, run.run({prompt}, 1));
      (r == 0 ? first : later.emplace_back()) = times.first;
    }
    if (i == 0) continue;
    cold.push_back(first);
    warm.push_back(median(later));
  }
  auto row = BenchResult::of("first_token", warm, "s");
  row.peer = "nothing cached";
  row.peer_value = median(cold);
  row.peer_repeats = cold;
  row.goal = Goal::at_most_ratio(0.1);
  row.note = "64 requests, 1,024 shared tokens and 16 of their own";
  return Report{row};
}

}  // namespace sluice::bench
