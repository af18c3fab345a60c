// What 1,000 idle workers cost: each a supervised loop on a thread of its own that waits on a real
// stream. Memory and processor time are the process's, beyond a run of the same graph with one such
// worker. Every repeat is a process of its own: memory that an earlier one gave back to the C
// library, not to the system, would flatter the next. About 30 kB of each thread are the
// thread-local variables of LibTorch and of the CUDA runtime it links, which the C library writes
// when it makes a thread.
#include "bench/processor_time.h"
#include "bench/program_run.h"
#include "bench/programs.h"
#include "bench/workers.h"
#include "dataflow/base/files.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>

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
  double resident = 0;  ///< MB
  double cores = 0;     ///< percent of one core
};

/// After a warm-up of one window, over another.
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
  for (int window = 0; window < 2; ++window) {
    const double before = processor_seconds();
    const TimeNs then = clock.now();
    RETURN_IF_ERROR(run.watch(
        static_cast<TimeNs>(seconds * 1e9), [] { return false; }, kSecond));
    cost.cores = (processor_seconds() - before) * 1e11 / static_cast<double>(clock.now() - then);
  }
  cost.resident = resident_mb();
  RETURN_IF_ERROR(run.stop());
  return cost;
}

/// One worker, then many.
struct Repeat {
  Cost one;
  Cost many;
};

Result<Repeat> measure(double seconds, uint64_t seed) {
  Repeat repeat;
  ASSIGN_OR_RETURN(repeat.one, cost_of(1, seconds / 4, seed));
  ASSIGN_OR_RETURN(repeat.many, cost_of(kWorkers, seconds, seed));
  return repeat;
}

/// measure() in a child process. This one must have a single thread, as the command has here.
Result<Repeat> measure_in_child(double seconds, uint64_t seed) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return errno_status(errno, "cannot make a pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    const int reason = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return errno_status(reason, "cannot make a process");
  }
  if (child == 0) {
    const auto measured = [&]() -> Result<Repeat> {
      try {
        return measure(seconds, seed);
      } catch (const std::exception& e) {  // must not reach the callers of fork()
        return error(Code::Internal, "{}", e.what());
      }
    }();
    if (!measured.ok()) std::fprintf(stderr, "idle: %s\n", measured.status().message().c_str());
    const bool told = measured.ok() && ::write(ends[1], &*measured, sizeof *measured) ==
                                           static_cast<ssize_t>(sizeof *measured);
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Repeat repeat;
  const bool told = ::read(ends[0], &repeat, sizeof repeat) == static_cast<ssize_t>(sizeof repeat);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!told || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return error(Code::Internal, "a repeat of the measurement failed");
  }
  return repeat;
}

}  // namespace

Result<Report> run_idle(const BenchOptions& options) {
  const double seconds = (options.seconds > 0 ? options.seconds : 5) / kRepeats;
  std::vector<double> extra;
  std::vector<double> one;
  std::vector<double> many;
  std::vector<double> cores;
  for (int i = 0; i < kRepeats; ++i) {
    ASSIGN_OR_RETURN(const Repeat repeat, measure_in_child(seconds, options.seed));
    one.push_back(repeat.one.resident);
    many.push_back(repeat.many.resident);
    extra.push_back(repeat.many.resident - repeat.one.resident);
    cores.push_back(repeat.many.cores);
  }
  auto memory = BenchResult::of("extra_resident", extra, "MB");
  memory.goal = Goal::at_most_value(50);
  memory.note =
      fmt::format("{} workers: {:.1f} MB, one: {:.1f} MB", kWorkers, median(many), median(one));
  auto processor = BenchResult::of("processor", cores, "% of a core");
  processor.goal = Goal::at_most_value(2);
  return Report{memory, processor};
}

}  // namespace sluice::bench
