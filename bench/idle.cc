// What 1,000 idle workers cost: each a supervised loop on a thread of its own that waits on a real
// stream. Memory and processor time are the process's, beyond a run of the same graph with one such
// worker. About 30 kB of each thread are the thread-local variables of LibTorch and of the CUDA
// runtime it links, which the C library writes when it makes a thread.
#include "bench/program_run.h"
#include "bench/programs.h"
#include "bench/workers.h"
#include "dataflow/base/files.h"

#include <sys/resource.h>

#include <cstdlib>

namespace sluice::bench {
namespace {

constexpr int64_t kWorkers = 1000;
constexpr int kRepeats = 5;

double resident_mb() {
  const auto text = read_file("/proc/self/status");
  if (!text.ok()) return 0;
  const auto at = text->find("VmRSS:");
  return at == std::string::npos ? 0 : std::strtod(text->c_str() + at + 6, nullptr) / 1024;
}

double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// A source that never has anything: what waits at a stream then waits for good.
struct Silent {
  static constexpr std::string_view kRole = "rollout";
  using Writes = Ports<Stream<Trajectory>>;

  class Loop final : public Worker {
   public:
    explicit Loop(StreamWriter<Trajectory> out) : out_(std::move(out)) {}
    Result<StepResult> step() override {
      if (!draining()) return StepResult::idle();
      out_.close();
      return StepResult::finished();
    }

   private:
    StreamWriter<Trajectory> out_;
  };
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto writer, context.writer<Trajectory>());
    return std::unique_ptr<Worker>(std::make_unique<Loop>(std::move(writer)));
  }
};

struct Cost {
  double resident = 0;
  std::vector<double> cores;  ///< share of one core, per window, in percent
};

Result<Cost> cost_of(int64_t workers, double seconds, uint64_t seed) {
  Graph g{"idle"};
  auto samples = g.stream<Trajectory>("samples").capacity(4);
  g.add("source", Silent{}).writes(samples);
  g.add("sink", ChunkSink{.batch = 1, .seen = std::make_shared<ChunkSink::Seen>()}).reads(samples);
  Placement p;
  p.put("sink", workers);
  ProgramRun run({std::move(g), std::move(p), -1}, seed);
  RETURN_IF_ERROR(run.start());
  const RealClock& clock = RealClock::instance();
  Cost cost;
  for (int i = 0; i <= kRepeats; ++i) {
    const double before = processor_seconds();
    const TimeNs then = clock.now();
    RETURN_IF_ERROR(run.watch(
        static_cast<TimeNs>(seconds * 1e9), [] { return false; }, kSecond));
    const double share =
        (processor_seconds() - before) * 1e11 / static_cast<double>(clock.now() - then);
    if (i > 0) cost.cores.push_back(share);
  }
  cost.resident = resident_mb();
  RETURN_IF_ERROR(run.stop());
  return cost;
}

}  // namespace

Result<Report> run_idle(const BenchOptions& options) {
  const double seconds = (options.seconds > 0 ? options.seconds : 5) / kRepeats;
  ASSIGN_OR_RETURN(const Cost one, cost_of(1, seconds / 4, options.seed));
  ASSIGN_OR_RETURN(const Cost many, cost_of(kWorkers, seconds, options.seed));
  auto memory = BenchResult::once("extra_resident", many.resident - one.resident, "MB");
  memory.goal = Goal::at_most_value(50);
  memory.note =
      fmt::format("{} workers: {:.1f} MB, one: {:.1f} MB", kWorkers, many.resident, one.resident);
  auto processor = BenchResult::of("processor", many.cores, "% of a core");
  processor.goal = Goal::at_most_value(2);
  return Report{memory, processor};
}

}  // namespace sluice::bench
