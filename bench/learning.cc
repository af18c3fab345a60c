// Does it learn? Five seeds on CartPole-v1 (an evaluation of 500, the most there is) and on
// Pendulum-v1 (an evaluation of -300 or more) with the recipe's own settings. Scores are those of
// the last version, over 100 episodes of most likely actions.
#include "apps/recipes/ppo_recipe.h"
#include "bench/program_run.h"
#include "bench/programs.h"

#include <algorithm>
#include <cstdio>

namespace sluice::bench {
namespace {

constexpr int kSeeds = 5;

struct Learned {
  double score = 0;
  double seconds = 0;
};

Result<Learned> learn(const std::string& env, double target, uint64_t seed) {
  PpoSettings s = PpoSettings::for_env(env);
  s.eval_every = 5;
  s.eval_episodes = 100;
  s.stop_at_target = true;
  s.target = target;
  s.checkpoint_every = 0;
  ASSIGN_OR_RETURN(Program program, ppo_program(s));
  ProgramRun run(std::move(program), seed);
  const RealClock& clock = RealClock::instance();
  const TimeNs began = clock.now();
  RETURN_IF_ERROR(run.start());
  const auto reached = [&] { return run.control().stop_requested(); };
  RETURN_IF_ERROR(run.watch(300 * kSecond, reached, kMillisecond));
  Learned out{run.value("eval_return"), static_cast<double>(clock.now() - began) * 1e-9};
  RETURN_IF_ERROR(
      run.stop_training());  // scores the last version, if nothing reached the target before
  if (out.score < target) out.score = run.value("eval_return");
  return out;
}

}  // namespace

Result<Report> run_learning(const BenchOptions& options) {
  const std::pair<const char*, double> tasks[] = {{"CartPole-v1", 500}, {"Pendulum-v1", -300}};
  Report report;
  for (const auto& [env, target] : tasks) {
    std::vector<double> scores;
    std::vector<double> seconds;
    for (int i = 0; i < kSeeds; ++i) {
      ASSIGN_OR_RETURN(const Learned learned,
                       learn(env, target, options.seed + static_cast<uint64_t>(i)));
      scores.push_back(learned.score);
      seconds.push_back(learned.seconds);
      std::fprintf(stderr, "%s, seed %d: %.1f in %.2f s\n", env, static_cast<int>(options.seed) + i,
                   learned.score, learned.seconds);
    }
    auto worst = BenchResult::once(fmt::format("worst_score/{}", env),
                                   *std::min_element(scores.begin(), scores.end()));
    worst.repeats = scores;
    worst.goal = Goal::at_least_value(target);
    worst.note = fmt::format("scores {:.1f}", fmt::join(scores, ", "));
    report.push_back(std::move(worst));
    report.push_back(BenchResult::of(fmt::format("seconds/{}", env), seconds, "s"));
  }
  return report;
}

}  // namespace sluice::bench
