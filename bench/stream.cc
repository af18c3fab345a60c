// Trajectories of 32 floats and 200 steps from a writer's loop to a reader's loop over the local
// transport. Handles move: no payload byte is copied, which Batch::clones() counts. The second rate
// has the writer fill every observation of every chunk first.
#include "bench/program_run.h"
#include "bench/programs.h"
#include "bench/workers.h"

namespace sluice::bench {
namespace {

constexpr int kRepeats = 5;

struct Measured {
  std::vector<double> rates;
  int64_t out_of_order = 0;
};

Result<Measured> rates(bool fill, double seconds, uint64_t seed) {
  Graph g{"stream"};
  auto samples = g.stream<Trajectory>("samples").capacity(256);
  auto seen = std::make_shared<ChunkSink::Seen>();
  g.add("source", ChunkSource{.width = 32, .horizon = 200, .fill = fill}).writes(samples);
  g.add("sink", ChunkSink{.batch = 1, .seen = seen}).reads(samples);
  ProgramRun run({std::move(g), {}, -1}, seed);
  RETURN_IF_ERROR(run.start());
  const RealClock& clock = RealClock::instance();
  Measured found;
  for (int i = 0; i <= kRepeats; ++i) {
    const int64_t before = seen->chunks.load();
    const TimeNs then = clock.now();
    RETURN_IF_ERROR(run.watch(static_cast<TimeNs>(seconds * 1e9), [] { return false; }));
    const auto chunks = static_cast<double>(seen->chunks.load() - before);
    if (i > 0) found.rates.push_back(chunks * 1e9 / static_cast<double>(clock.now() - then));
  }
  RETURN_IF_ERROR(run.stop());
  found.out_of_order = seen->out_of_order.load();
  return found;
}

}  // namespace

Result<Report> run_stream(const BenchOptions& options) {
  const double seconds = (options.seconds > 0 ? options.seconds : 5) / kRepeats;
  const int64_t clones = Batch::clones();
  ASSIGN_OR_RETURN(const auto moved, rates(false, seconds, options.seed));
  ASSIGN_OR_RETURN(const auto filled, rates(true, seconds, options.seed));
  auto rate = BenchResult::of("chunks_per_second", moved.rates, "chunks/s");
  rate.goal = Goal::at_least_value(100'000);
  auto full = BenchResult::of("filled_chunks_per_second", filled.rates, "chunks/s");
  full.note = "the writer fills 25.6 kB a chunk";
  auto copies = BenchResult::once("copies", static_cast<double>(Batch::clones() - clones));
  copies.goal = Goal::at_most_value(0);
  auto order = BenchResult::once("out_of_order",
                                 static_cast<double>(moved.out_of_order + filled.out_of_order));
  order.goal = Goal::at_most_value(0);
  return Report{rate, full, copies, order};
}

}  // namespace sluice::bench
