// Wall clock from the launch of the run to the first evaluation (100 episodes, most likely actions)
// with a mean return of 475 or more, through the recipe's own program with its own settings for
// CartPole-v1. The evaluator runs beside the training, so its time counts. The peer is
// Stable-Baselines3 with the settings rl-zoo tuned; its evaluations stand still for its clock.
#include "apps/recipes/ppo_recipe.h"
#include "bench/peer.h"
#include "bench/program_run.h"
#include "bench/programs.h"

#include <cstdio>

namespace sluice::bench {
namespace {

constexpr int kSeeds = 5;

struct Reached {
  double seconds;
  double steps;
  double score;
};

Result<Reached> reach(uint64_t seed, double limit) {
  PpoSettings s = PpoSettings::for_env("CartPole-v1");
  s.eval_every = 5;
  s.eval_episodes = 100;
  s.stop_at_target = true;
  s.target = 475;
  s.checkpoint_every = 0;
  const RealClock& clock = RealClock::instance();
  const TimeNs began = clock.now();
  ASSIGN_OR_RETURN(Program program, ppo_program(s));
  ProgramRun run(std::move(program), seed);
  RETURN_IF_ERROR(run.start());
  RETURN_IF_ERROR(run.watch(
      static_cast<TimeNs>(limit * 1e9), [&] { return run.control().stop_requested(); },
      kMillisecond));
  const double seconds = static_cast<double>(clock.now() - began) * 1e-9;
  const Reached reached{seconds, run.value("env_steps"), run.value("eval_return")};
  RETURN_IF_ERROR(run.stop_training());
  if (reached.score < s.target) {
    return error(Code::OutOfRange, "seed {} was at {:.1f} after {:.0f} steps and {:.1f} s", seed,
                 reached.score, reached.steps, reached.seconds);
  }
  return reached;
}

}  // namespace

Result<Report> run_time_to_475(const BenchOptions& options) {
  const double limit = options.seconds > 0 ? options.seconds : 60;
  std::vector<double> seconds;
  std::vector<double> steps;
  int missed = 0;
  for (int i = 0; i < kSeeds; ++i) {
    const auto reached = reach(options.seed + static_cast<uint64_t>(i), limit);
    if (!reached.ok()) {
      if (reached.status().code() != Code::OutOfRange) return reached.status();
      std::fprintf(stderr, "%s\n", reached.status().message().c_str());
      ++missed;
      seconds.push_back(limit);  // a seed that never arrives counts as the whole limit
      continue;
    }
    std::fprintf(stderr, "ours, seed %d: %.2f s, %.0f steps, %.1f\n",
                 static_cast<int>(options.seed) + i, reached->seconds, reached->steps,
                 reached->score);
    seconds.push_back(reached->seconds);
    steps.push_back(reached->steps);
  }
  auto time = BenchResult::of("seconds_to_475", seconds, "s");
  time.goal = Goal::at_most_ratio(0.2);
  time.note = fmt::format("{} seeds, {} of them did not arrive", kSeeds, missed);
  if (!options.peer_python.empty()) {
    ASSIGN_OR_RETURN(const auto peer, run_peer(options, "sb3_time_to_475.py",
                                               {"--seeds", fmt::format("{}", kSeeds), "--seed",
                                                fmt::format("{}", options.seed)}));
    time.peer = peer.peer + " " + peer.version;
    time.peer_value = peer.value;
    time.peer_repeats = peer.repeats;
  }
  return Report{time, BenchResult::of("steps_to_475", steps, "steps")};
}

}  // namespace sluice::bench
