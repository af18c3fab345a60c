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
#include <memory>
#include <mutex>
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
  std::mutex mutex;  // a trainer that comes back asks from its own thread
  std::map<std::string, Snapshot> saved;
  LaunchOptions options{
      .clock = clock, .metrics = ended->metrics, .run = control, .seed = 5, .restart = restart};
  options.last_checkpoint = [&]() -> Result<std::map<std::string, Snapshot>> {
    const std::lock_guard lock(mutex);
    if (saved.empty()) return error(Code::NotFound, "nothing was saved yet");
    return saved;
  };
  LocalLauncher launcher(graph, placement, std::move(options));
  launcher.control().set_waker(&waker);
  ended->outcome = launcher.start();
  const TimeNs deadline = clock.now() + 60 * kSecond;
  while (ended->outcome.ok() && !control.finished()) {
    const auto seen = waker.epoch();
    if (control.checkpoint_pending()) {
      auto states = launcher.control().checkpoint(10 * kSecond);
      EXPECT_TRUE(states.ok()) << states.status().message();
      const std::lock_guard lock(mutex);
      if (states.ok()) saved = *std::move(states);
      control.checkpoint_done();
    }
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
    board.erase("steps_per_second");
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

/// A worker that is what `Spec` makes, except that its step number `at` fails, once in the process.
template <class Spec>
struct FailsOnce : Spec {
  int64_t at = 0;
  std::shared_ptr<std::atomic<bool>> failed = std::make_shared<std::atomic<bool>>(false);

  class Loop final : public Worker {
   public:
    Loop(std::unique_ptr<Worker> inner, int64_t at, std::shared_ptr<std::atomic<bool>> failed)
        : inner_(std::move(inner)), at_(at), failed_(std::move(failed)) {}
    Result<StepResult> step() override {
      auto result = inner_->step();
      const bool counts = result.ok() && result->kind == StepResult::Kind::Progress;
      if (counts && ++steps_ == at_ && !failed_->exchange(true)) {
        return error(Code::Internal, "just once");
      }
      return result;
    }
    void drain() override { inner_->drain(); }
    Status save(Snapshot& out) const override { return inner_->save(out); }
    Status load(const Snapshot& in) override { return inner_->load(in); }

   private:
    std::unique_ptr<Worker> inner_;
    int64_t at_;
    std::shared_ptr<std::atomic<bool>> failed_;
    int64_t steps_ = 0;
  };
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto inner, Spec::make(context));
    return std::unique_ptr<Worker>(std::make_unique<Loop>(std::move(inner), at, failed));
  }
};

class WorkerThatFailsOnce : public ::testing::TestWithParam<Layout> {
 protected:
  /// Trains with the two given workers; a checkpoint every third version.
  template <class P, class T>
  std::unique_ptr<Ended> train(P policy, T trainer) {
    const std::string env = "CartPole-v1";
    PpoConfig config;
    config.epochs = 1;
    policy.env = env;
    trainer.env = env;
    trainer.batch = 8;
    trainer.horizon = 16;
    trainer.checkpoint_every = 3;
    trainer.learner = ppo(config);
    Graph g{"recovers"};
    auto act = g.service<Observation, Action>("act");
    auto samples = g.stream<Trajectory>("samples").capacity(16).admit_ahead(0, 8);
    auto weights = g.latest<Weights>("weights");
    g.add("rollout", Rollout{.env = env, .ring = 8, .horizon = 16}).asks(act).writes(samples);
    g.add("policy", policy).serves(act).follows(weights);
    g.add("trainer", trainer).reads(samples).publishes(weights);
    Placement p;
    if (GetParam() == Layout::Inline) p.together("policy", "rollout");
    if (GetParam() == Layout::Seed) p.together("policy", "trainer");
    return run(g, p, {.backoff = kMillisecond});
  }
};

TEST_P(WorkerThatFailsOnce, PolicyComesBackAndIsWiredAgain) {
  FailsOnce<Policy> policy;
  policy.at = 30;
  const auto ended = train(policy, Trainer{});
  ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
  EXPECT_TRUE(*policy.failed);
  EXPECT_EQ(ended->metric("sluice_worker_restarts_total"), 1);
  EXPECT_EQ(ended->board.at("env_steps"), kSteps);
  EXPECT_EQ(ended->board.at("version"), 10);
}

TEST_P(WorkerThatFailsOnce, TrainerGoesOnFromItsCheckpointUnderANewIncarnation) {
  FailsOnce<Trainer> trainer;
  trainer.at = 45;
  const auto ended = train(Policy{}, trainer);
  ASSERT_TRUE(ended->outcome.ok()) << ended->outcome.message();
  EXPECT_TRUE(*trainer.failed);
  EXPECT_EQ(ended->metric("sluice_worker_restarts_total"), 1);
  EXPECT_EQ(ended->board.at("env_steps"), kSteps) << "steps of lost versions do not count";
  EXPECT_EQ(ended->board.at("version"), 10);
  EXPECT_GT(ended->metric("sluice_trainer_versions_total"), 11) << "some were made twice";
  EXPECT_GT(ended->board.at("incarnation"), 0);
}

std::string layout_name(const ::testing::TestParamInfo<Layout>& info) {
  switch (info.param) {
    case Layout::Inline:
      return "Inline";
    case Layout::Seed:
      return "Seed";
    case Layout::Split:
      break;
  }
  return "Split";
}

INSTANTIATE_TEST_SUITE_P(Layouts, WorkerThatFailsOnce,
                         ::testing::Values(Layout::Inline, Layout::Seed, Layout::Split),
                         layout_name);

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
