// A real rollout worker with the "null" environment asks a policy that costs nothing, each on a
// loop of its own, over the local transport: steps per second is what the machinery allows. For
// comparison, SRL (arXiv 2306.16688) reports 84 to 4,707 steps/s for its own code on its workloads.
// Latency: the round trip of the only outstanding question between two loops, less nothing.
#include "bench/program_run.h"
#include "bench/programs.h"
#include "bench/workers.h"
#include "workers/rollout_worker.h"

namespace sluice::bench {
namespace {

constexpr int kRepeats = 5;
constexpr int64_t kQuestions = 20'000;
constexpr int64_t kWarmUp = 2'000;

Result<std::vector<double>> throughput(int64_t ring, double seconds, uint64_t seed) {
  Graph g{"service"};
  auto act = g.service<Observation, Action>("act").batch(up_to(ring));
  auto samples = g.stream<Trajectory>("samples").capacity(4 * ring);
  g.add("rollout", Rollout{.env = "null", .ring = ring, .horizon = 128}).asks(act).writes(samples);
  g.add("policy", ZeroPolicy{}).serves(act);
  auto seen = std::make_shared<ChunkSink::Seen>();
  g.add("sink", ChunkSink{.batch = ring, .seen = seen}).reads(samples);
  Placement p;
  p.together("sink", "policy");
  ProgramRun run({std::move(g), std::move(p), -1}, seed);
  RETURN_IF_ERROR(run.start());
  const RealClock& clock = RealClock::instance();
  std::vector<double> found;
  for (int i = 0; i <= kRepeats; ++i) {
    const double before = run.metric("sluice_env_steps_total");
    const TimeNs then = clock.now();
    RETURN_IF_ERROR(run.watch(static_cast<TimeNs>(seconds * 1e9), [] { return false; }));
    const double steps = run.metric("sluice_env_steps_total") - before;
    if (i > 0) found.push_back(steps * 1e9 / static_cast<double>(clock.now() - then));
  }
  RETURN_IF_ERROR(run.stop());
  return found;
}

Result<std::vector<double>> round_trips(uint64_t seed) {
  Graph g{"latency"};
  auto act = g.service<Observation, Action>("act").batch(up_to(64));
  auto times = std::make_shared<Asker::Times>();
  g.add("asker", Asker{.questions = kQuestions, .times = times}).asks(act);
  g.add("policy", ZeroPolicy{}).serves(act);
  ProgramRun run({std::move(g), {}, -1}, seed);
  RETURN_IF_ERROR(run.start());
  RETURN_IF_ERROR(run.watch(60 * kSecond, [&] { return times->done.load(); }));
  RETURN_IF_ERROR(run.stop());
  auto& found = times->microseconds;
  if (static_cast<int64_t>(found.size()) < kQuestions) {
    return error(Code::DeadlineExceeded, "only {} of {} questions were answered", found.size(),
                 kQuestions);
  }
  found.erase(found.begin(), found.begin() + kWarmUp);
  return found;
}

}  // namespace

Result<Report> run_service(const BenchOptions& options) {
  const double seconds = options.seconds > 0 ? options.seconds : 5;
  constexpr int64_t kRing = 256;
  ASSIGN_OR_RETURN(const auto rates, throughput(kRing, seconds / kRepeats, options.seed));
  auto rate = BenchResult::of("steps_per_second", rates, "steps/s");
  rate.goal = Goal::at_least_value(200'000);
  rate.note = fmt::format("ring of {} slots", kRing);
  std::vector<double> p50;
  std::vector<double> p99;
  for (int i = 0; i < kRepeats; ++i) {
    ASSIGN_OR_RETURN(const auto trips, round_trips(options.seed));
    p50.push_back(quantile(trips, 0.5));
    p99.push_back(quantile(trips, 0.99));
  }
  auto middle = BenchResult::of("added_latency_p50", p50, "us");
  middle.goal = Goal::at_most_value(20);
  return Report{rate, middle, BenchResult::of("added_latency_p99", p99, "us")};
}

}  // namespace sluice::bench
