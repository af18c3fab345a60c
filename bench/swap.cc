// The pause that new weights cause while 16 sequences decode, SmolLM2-135M's shape, bf16 weights, 2
// threads. The new ones lie in host memory as a trainer publishes them (fp32); another thread packs
// them meanwhile. pause: from the end of a step over the swap to the end of the next step, against
// a step without a swap. flip: the swap alone, against the same of a model of 6 layers.
#include "bench/engine_run.h"
#include "bench/programs.h"
#include "models/transformer/parallel_rows.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <thread>

namespace sluice::bench {
namespace {

constexpr int kSwaps = 7;
constexpr int64_t kSequences = 16;

struct SwapTimes {
  std::vector<double> step;       ///< seconds, nothing beside
  std::vector<double> preparing;  ///< of a step while weights are packed
  std::vector<double> flip;
  std::vector<double> pause;
};

double seconds_since(TimeNs then) {
  return static_cast<double>(RealClock::instance().now() - then) * 1e-9;
}

Result<double> timed_step(Engine& engine) {
  const TimeNs then = RealClock::instance().now();
  RETURN_IF_ERROR(engine.step());
  return seconds_since(then);
}

Result<SwapTimes> measure_swaps(int64_t layers, uint64_t seed) {
  std::vector<PreparedWeights> retired;
  EngineRun::Options how;
  how.layers = layers;
  how.kv_mib = 1024;
  how.seed = seed;
  how.retire = [&retired](PreparedWeights old) { retired.push_back(std::move(old)); };
  ASSIGN_OR_RETURN(auto run, EngineRun::create(how));
  Engine& engine = run.engine();
  const Parameters weights[] = {Parameters::random(engine.model().config(), RandomKey(seed + 1)),
                                engine.model().parameters()};
  for (const auto& prompt : run.prompts(kSequences, 32)) {
    GenRequest request;
    request.prompt = prompt;
    request.sampling.max_tokens = 2048;
    request.sampling.ignore_eos = true;
    RETURN_IF_ERROR(engine.submit(std::move(request), {}).status());
  }
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(engine.step());
  SwapTimes times;
  for (int i = 0; i < kSwaps; ++i) {
    for (int s = 0; s < 3; ++s) {
      ASSIGN_OR_RETURN(const double spent, timed_step(engine));
      times.step.push_back(spent);
    }
    Result<PreparedWeights> ready = Status();
    std::atomic<bool> done = false;
    std::thread preparer([&] {
      const SerialRows serial;
      retired.clear();
      ready = engine.prepare_weights(weights[i % 2]);
      done = true;
    });
    Status failed;
    while (!done && failed.ok()) {
      const auto spent = timed_step(engine);
      if (spent.ok()) times.preparing.push_back(*spent);
      failed = spent.status();
    }
    preparer.join();
    RETURN_IF_ERROR(failed);
    RETURN_IF_ERROR(ready.status());
    const TimeNs then = RealClock::instance().now();
    RETURN_IF_ERROR(
        engine.swap_weights(*std::move(ready), VersionTag{1, 1, i + 2, 1}, SwapMode::InFlight));
    times.flip.push_back(seconds_since(then));
    RETURN_IF_ERROR(engine.step());
    times.pause.push_back(seconds_since(then));
  }
  engine.abort_all();
  return times;
}

BenchResult compared(const char* metric, const std::vector<double>& ours, const char* peer,
                     const std::vector<double>& theirs, double factor, const char* unit) {
  const auto scaled = [factor](std::vector<double> values) {
    for (double& value : values) value *= factor;
    return values;
  };
  auto row = BenchResult::of(metric, scaled(ours), unit);
  row.peer = peer;
  row.peer_repeats = scaled(theirs);
  row.peer_value = median(row.peer_repeats);
  return row;
}

}  // namespace

Result<Report> run_swap(const BenchOptions& options) {
  at::set_num_threads(2);
  ASSIGN_OR_RETURN(const SwapTimes whole, measure_swaps(30, options.seed));
  ASSIGN_OR_RETURN(const SwapTimes small, measure_swaps(6, options.seed));
  auto pause = compared("pause", whole.pause, "a step without a swap", whole.step, 1e3, "ms");
  pause.goal = Goal::at_most_ratio(1.05);
  pause.note = "16 sequences, answers under way keep their keys";
  auto flip = compared("flip", whole.flip, "of 6 layers", small.flip, 1e6, "us");
  flip.note = "between two steps; the step is not in it";
  auto beside = compared("step_while_packing", whole.preparing, "a step without a swap", whole.step,
                         1e3, "ms");
  beside.note = "a third thread on 2 processors";
  return Report{pause, flip, beside};
}

}  // namespace sluice::bench
