// One program under different placements, and with workers that fail, by the real launcher.
#include "apps/recipes/ppo_recipe.h"
#include "dataflow/placement/local_launcher.h"
#include "envs/dummy.h"
#include "envs/registry.h"
#include "workers/buffer_worker.h"
#include "workers/policy_worker.h"
#include "workers/rollout_worker.h"
#include "workers/trainer_worker.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <stdexcept>

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kSteps = 1280;

struct Ended {
  Status outcome;
  std::map<std::string, double> board;
  MetricRegistry metrics;

  double metric(std::string_view name) const {
    double sum = 0;
    for (const MetricSample& sample : metrics.snapshot()) {
      if (sample.name == name) sum += sample.value;
    }
    return sum;
  }
};

/// Launches a program and plays the session's part until it ends.
std::unique_ptr<Ended> run(const Graph& graph, const Placement& placement,
                           RestartPolicy restart = {}) {
  auto ended = std::make_unique<Ended>();
  if (Status checked = graph.check(placement); !checked.ok()) {
    ended->outcome = checked;
    return ended;
  }
  RealClock& clock = RealClock::instance();
  Waker waker;
  RunControl control({.run = 1, .incarnation = 0, .directory = "", .max_steps = kSteps});
  control.watch(&waker);
  LocalLauncher launcher(
      graph, placement,
      {.clock = clock, .metrics = ended->metrics, .run = control, .seed = 5, .restart = restart});
  launcher.control().set_waker(&waker);
  ended->outcome = launcher.start();
  const TimeNs deadline = clock.now() + 60 * kSecond;
  while (ended->outcome.ok() && !control.finished()) {
    const auto seen = waker.epoch();
    if (control.checkpoint_pending()) control.checkpoint_done();
    if (const auto outcome = launcher.control().outcome()) {
      ended->outcome = *outcome;
      break;
    }
    if (clock.now() > deadline) {
      ended->outcome = error(Code::DeadlineExceeded, "the run has not ended");
      break;
    }
    waker.wait(seen, clock.now() + kSecond);
  }
  const Status down = launcher.control().shutdown(10 * kSecond);
  EXPECT_TRUE(down.ok()) << down.message();
  ended->board = control.snapshot();
  return ended;
}

PpoSettings small() {
  PpoSettings s;
  s.envs = 8;
  s.horizon = 16;
  s.threads = 1;
  s.max_steps = kSteps;
  s.eval_every = 0;
  s.ppo.epochs = 2;
  return s;
}

std::unique_ptr<Ended> run(const PpoSettings& settings, RestartPolicy restart = {}) {
  auto program = ppo_program(settings);
  EXPECT_TRUE(program.ok());
  return run(program->graph, program->placement, restart);
}

TEST(Placements, InlineSeedAndSplitTrainTheSameVersionsBitForBit) {
  std::map<std::string, double> first;
  for (const Layout layout : {Layout::Inline, Layout::Seed, Layout::Split}) {
    SCOPED_TRACE(static_cast<int>(layout));
    PpoSettings settings = small();
    settings.layout = layout;
    const auto ended = run(settings);
    ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
    EXPECT_EQ(ended->board.at("version"), 10);
    EXPECT_EQ(ended->board.at("env_steps"), kSteps);
    auto board = ended->board;
    board.erase("env_steps_per_second");
    if (first.empty()) first = board;
    EXPECT_EQ(board, first) << "where inference runs must not change what is learned";
  }
}

TEST(Placements, TwoRolloutReplicasShareABatch) {
  for (const Layout layout : {Layout::Inline, Layout::Split}) {
    PpoSettings settings = small();
    settings.layout = layout;
    settings.replicas = 2;
    const auto ended = run(settings);
    ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
    EXPECT_EQ(ended->board.at("version"), 5);
    EXPECT_GE(ended->metric("sluice_env_steps_total"), kSteps);
  }
}

std::atomic<bool> has_thrown{false};

/// Throws in the 20th step of one copy, once in the process.
class ThrowsOnce final : public Env {
 public:
  [[nodiscard]] const EnvSpec& spec() const noexcept override { return sane_.spec(); }
  Status reset(std::optional<uint64_t> seed, ObservationOut out) override {
    return sane_.reset(seed, out);
  }
  Status step(const void* action, ObservationOut out, Transition& t) override {
    if (++steps_ == 20 && !has_thrown.exchange(true)) throw std::runtime_error("just once");
    return sane_.step(action, out, t);
  }
  [[nodiscard]] std::string save() const override { return sane_.save(); }
  Status load(std::string_view state) override { return sane_.load(state); }

 private:
  DummyEnv sane_{"throws-once"};
  int64_t steps_ = 0;
};

TEST(Placements, RolloutThatThrowsOnceIsRestartedAndTheRunGoesOnToItsEnd) {
  ASSERT_TRUE(register_env("throws-once", [] { return std::make_unique<ThrowsOnce>(); }).ok());
  for (const Layout layout : {Layout::Inline, Layout::Seed, Layout::Split}) {
    SCOPED_TRACE(static_cast<int>(layout));
    has_thrown = false;
    PpoSettings settings = small();
    settings.env = "throws-once";
    settings.layout = layout;
    settings.replicas = 2;
    const auto ended = run(settings, {.backoff = kMillisecond});
    ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
    EXPECT_TRUE(has_thrown);
    EXPECT_EQ(ended->metric("sluice_worker_restarts_total"), 1);
    EXPECT_EQ(ended->board.at("version"), 5);
  }
}

TEST(Placements, SpentBudgetEndsTheRunWithAReason) {
  PpoSettings settings = small();
  settings.env = "faulty:throw@20";
  const auto ended = run(settings, {.max_restarts = 1, .backoff = kMillisecond});
  ASSERT_FALSE(ended->outcome.ok());
  EXPECT_THAT(ended->outcome.message(),
              AllOf(HasSubstr("rollout/0"), HasSubstr("2 times"), HasSubstr("slot 0, step 20")));
  EXPECT_EQ(ended->metric("sluice_worker_restarts_total"), 1);
}

TEST(Placements, BufferBetweenRolloutsAndTrainerPassesEverythingOn) {
  const std::string env = "CartPole-v1";
  Graph g{"buffered"};
  auto act = g.service<Observation, Action>("act");
  auto fresh = g.stream<Trajectory>("fresh").capacity(8);
  auto samples = g.stream<Trajectory>("samples").capacity(16);
  auto weights = g.latest<Weights>("weights");
  PpoConfig config;
  config.epochs = 1;
  g.add("rollout", Rollout{.env = env, .ring = 8, .horizon = 16}).asks(act).writes(fresh);
  g.add("buffer", Buffer<Trajectory>{}).reads(fresh).writes(samples);
  g.add("policy", Policy{.env = env}).serves(act).follows(weights);
  g.add("trainer", Trainer{.env = env, .batch = 8, .horizon = 16, .learner = ppo(config)})
      .reads(samples)
      .publishes(weights);
  const auto ended = run(g, Placement{});
  ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
  EXPECT_EQ(ended->board.at("version"), 10);
  EXPECT_EQ(ended->board.at("env_steps"), kSteps);
  EXPECT_GE(ended->metric("sluice_buffer_moved_total"), kSteps / 16);
}

}  // namespace
}  // namespace sluice
