// Short versions of `sluice bench learning`: whole programs that must reach a score.
#include "apps/recipes/ppo_recipe.h"
#include "bench/program_run.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {
namespace {

struct Task {
  const char* env;
  double target;
  uint64_t seed;
};

class Learning : public ::testing::TestWithParam<Task> {};

TEST_P(Learning, ReachesTheTarget) {
  (void)at::get_num_threads();
  at::set_num_threads(1);
  const Task& task = GetParam();
  PpoSettings s = PpoSettings::for_env(task.env);
  s.eval_every = 5;
  s.eval_episodes = 50;
  s.stop_at_target = true;
  s.target = task.target;
  s.checkpoint_every = 0;
  auto program = ppo_program(s);
  ASSERT_TRUE(program.ok()) << program.status().message();
  bench::ProgramRun run(*std::move(program), task.seed);
  ASSERT_TRUE(run.start().ok());
  const Status watched = run.watch(
      120 * kSecond, [&] { return run.control().stop_requested(); }, kMillisecond);
  EXPECT_TRUE(watched.ok()) << watched.message();
  const double at_stop = run.value("eval_return");
  EXPECT_TRUE(run.stop().ok());
  EXPECT_GE(std::max(at_stop, run.value("eval_return")), task.target)
      << "after " << run.value("env_steps") << " steps";
}

INSTANTIATE_TEST_SUITE_P(Ppo, Learning,
                         ::testing::Values(Task{"CartPole-v1", 475, 1}, Task{"CartPole-v1", 475, 2},
                                           Task{"CartPole-v1", 475, 3},
                                           Task{"Pendulum-v1", -400, 1},
                                           Task{"Pendulum-v1", -400, 2}),
                         [](const auto& info) {
                           const std::string env = info.param.env;
                           return env.substr(0, env.find('-')) + std::to_string(info.param.seed);
                         });

}  // namespace
}  // namespace sluice
