// What exact mode costs: packed fp32 products, whose bits depend on nothing but the sequence,
// against LibTorch's fp32 products. Attention is the same: it is the faster one here.
// SmolLM2-135M's shape, random weights, 2 threads; seconds for the same tokens, in turns.
#include "bench/engine_run.h"
#include "bench/programs.h"

#include <ATen/Parallel.h>

namespace sluice::bench {
namespace {

struct Work {
  const char* name;
  int64_t sequences;
  int64_t prompt;
  int32_t drawn;
};
constexpr Work kWork[] = {
    {"one_sequence", 1, 64, 64}, {"64_sequences", 64, 32, 32}, {"prompt_of_1024", 1, 1024, 1}};

}  // namespace

Result<Report> run_exact_cost(const BenchOptions& options) {
  constexpr int kRepeats = 3;
  at::set_num_threads(2);
  ASSIGN_OR_RETURN(
      auto exact,
      EngineRun::create({.weights = WeightFormat::Fp32, .kv_mib = 1024, .seed = options.seed}));
  ASSIGN_OR_RETURN(auto fast,
                   EngineRun::create({.packed = false, .kv_mib = 1024, .seed = options.seed}));
  Report report;
  for (const Work& work : kWork) {
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int i = 0; i <= kRepeats; ++i) {
      for (EngineRun* run : {&exact, &fast}) {
        ASSIGN_OR_RETURN(const auto times,
                         run->run(run->prompts(work.sequences, work.prompt), work.drawn));
        if (i > 0) (run == &exact ? ours : theirs).push_back(times.end);
      }
    }
    auto row = BenchResult::of(work.name, ours, "s");
    row.peer = "fast fp32";
    row.peer_value = median(theirs);
    row.peer_repeats = theirs;
    row.goal = Goal::at_most_ratio(1.5);
    row.note =
        fmt::format("{} prompts of {} tokens, {} new", work.sequences, work.prompt, work.drawn);
    report.push_back(std::move(row));
  }
  return report;
}

}  // namespace sluice::bench
