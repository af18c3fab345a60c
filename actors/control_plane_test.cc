#include "actors/control_plane.h"

#include "tests/support/scripted_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

Result<StepResult> count_until_drained(int64_t /*step*/, bool draining) {
  if (draining) return StepResult::finished();
  std::this_thread::yield();
  return StepResult::progress();
}

Result<StepResult> idle_until_drained(int64_t /*step*/, bool draining) {
  return draining ? StepResult::finished() : StepResult::idle();
}

class ControlPlaneTest : public testing::Test {
 protected:
  /// Waits, with a limit far above what any machine needs, for something to come true.
  template <class F>
  [[nodiscard]] bool eventually(F condition) {
    const TimeNs limit = RealClock::instance().now() + 30 * kSecond;
    while (!condition()) {
      if (RealClock::instance().now() > limit) return false;
      const Waker::Epoch seen = waker_.epoch();
      waker_.wait(seen, RealClock::instance().now() + kMillisecond);
    }
    return true;
  }
  void plane(TimeNs step_deadline = 0) {
    control_ = std::make_unique<ControlPlane>(ControlOptions{
        .clock = RealClock::instance(), .metrics = metrics_, .step_deadline = step_deadline});
    control_->set_waker(&waker_);
  }
  LoopStatus status(size_t i) { return control_->status(10 * kSecond).at(i); }

  static constexpr RestartPolicy kQuick{3, 60 * kSecond, kMillisecond, 5 * kMillisecond};
  MetricRegistry metrics_;
  Waker waker_;
  std::unique_ptr<ControlPlane> control_;
};

TEST_F(ControlPlaneTest, FinishedLoopThatEndsTheRunEndsItWell) {
  plane();
  control_->add({.name = "trainer/0",
                 .stage = 2,
                 .ends_run = true,
                 .make = one_worker("trainer/0", [](int64_t step, bool) -> Result<StepResult> {
                   return step < 100 ? StepResult::progress() : StepResult::finished();
                 })});
  control_->add(
      {.name = "policy/0", .stage = 1, .make = one_worker("policy/0", idle_until_drained)});
  ASSERT_TRUE(control_->start().ok());
  ASSERT_TRUE(eventually([&] { return control_->outcome().has_value(); }));
  EXPECT_TRUE(control_->outcome()->ok());
  EXPECT_EQ(status(0).state, LoopState::Finished);
  EXPECT_EQ(status(0).steps, 99);
  EXPECT_EQ(status(1).state, LoopState::Running);
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
  EXPECT_EQ(status(1).state, LoopState::Finished);
  EXPECT_EQ(metrics_.counter("sluice_worker_steps_total", "", {{"worker", "trainer/0"}}).value(),
            99);
}

TEST_F(ControlPlaneTest, FailedLoopIsMadeAgainWhileOthersGoOn) {
  plane();
  std::atomic<int> last_attempt{-1};
  control_->add({.name = "bad/0", .restart = kQuick, .make = [&](Waker& w, int attempt) {
                   last_attempt = attempt;
                   return one_worker("bad/0",
                                     [attempt](int64_t step, bool draining) -> Result<StepResult> {
                                       if (attempt == 0 && step == 17)
                                         throw std::runtime_error("boom");
                                       if (attempt == 1 && step == 5)
                                         return error(Code::DataLoss, "bad bytes");
                                       return count_until_drained(step, draining);
                                     })(w, attempt);
                 }});
  control_->add({.name = "good/0", .make = one_worker("good/0", count_until_drained)});
  ASSERT_TRUE(control_->start().ok());
  ASSERT_TRUE(
      eventually([&] { return last_attempt == 2 && status(0).state == LoopState::Running; }));
  const int64_t before = status(1).steps;
  EXPECT_TRUE(eventually([&] { return status(1).steps > before; }));
  EXPECT_EQ(status(0).restarts, 2);
  EXPECT_EQ(status(0).last_error, "bad bytes (step 5)");
  EXPECT_EQ(status(1).restarts, 0);
  EXPECT_FALSE(control_->outcome());
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
}

TEST_F(ControlPlaneTest, SpentBudgetEndsTheRunWithOneLine) {
  plane();
  control_->add({.name = "rollout/0",
                 .restart = kQuick,
                 .make = one_worker("rollout/0", [](int64_t step, bool) -> Result<StepResult> {
                   if (step == 17) throw std::runtime_error("boom");
                   return StepResult::progress();
                 })});
  (void)control_->start();  // may already see the end
  ASSERT_TRUE(eventually([&] { return control_->outcome().has_value(); }));
  EXPECT_EQ(control_->outcome()->message(),
            "worker rollout/0 failed 4 times within 60 s; last: boom (step 17)");
  EXPECT_EQ(status(0).state, LoopState::Failed);
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
}

TEST_F(ControlPlaneTest, StartReportsALoopThatCannotBeMadeAtOnce) {
  plane();
  std::atomic<int> tries{0};
  control_->add({.name = "rollout/0",
                 .restart = kQuick,
                 .make = [&](Waker&, int) -> Result<std::vector<HostedWorker>> {
                   ++tries;
                   return error(Code::NotFound, "no environment 'x'");
                 }});
  EXPECT_EQ(control_->start().message(), "worker rollout/0 cannot start: make: no environment 'x'");
  EXPECT_EQ(tries, 1);
}

TEST_F(ControlPlaneTest, CheckpointHoldsEveryWorkerAndPauseStopsThem) {
  plane();
  control_->add({.name = "a", .make = one_worker("a/0", count_until_drained)});
  control_->add({.name = "b", .make = one_worker("b/0", idle_until_drained)});
  ASSERT_TRUE(control_->start().ok());
  control_->pause();
  ASSERT_TRUE(eventually([&] {
    return status(0).state == LoopState::Paused && status(1).state == LoopState::Paused;
  }));
  const int64_t steps = status(0).steps;
  const auto saved = control_->checkpoint(10 * kSecond);
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  ASSERT_EQ(saved->size(), 2U);
  int64_t in_snapshot = 0;
  ASSERT_TRUE(saved->at("a/0").get_value("steps", in_snapshot).ok());
  EXPECT_EQ(in_snapshot, steps);
  EXPECT_EQ(status(0).steps, steps);
  control_->resume();
  EXPECT_TRUE(eventually([&] { return status(0).steps > steps; }));
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
  EXPECT_TRUE(control_->checkpoint(10 * kSecond).ok()) << "final states are kept";
}

TEST_F(ControlPlaneTest, ShutdownDrainsStageAfterStage) {
  plane();
  std::mutex mutex;
  std::vector<std::string> order;
  for (int stage : {2, 0, 1}) {
    const std::string name = "stage" + std::to_string(stage);
    control_->add(
        {.name = name,
         .stage = stage,
         .make = one_worker(name, [&, name](int64_t, bool draining) -> Result<StepResult> {
           if (!draining) return StepResult::idle();
           std::lock_guard lock(mutex);
           order.push_back(name);
           return StepResult::finished();
         })});
  }
  ASSERT_TRUE(control_->start().ok());
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
  EXPECT_EQ(order, (std::vector<std::string>{"stage0", "stage1", "stage2"}));
}

TEST_F(ControlPlaneTest, ShutdownAbandonsAStuckLoop) {
  plane();
  std::atomic<bool> release{false};
  std::atomic<bool> stuck{false};
  control_->add(
      {.name = "stuck/0", .make = one_worker("stuck/0", [&](int64_t, bool) -> Result<StepResult> {
                            stuck = true;
                            release.wait(false);
                            return StepResult::progress();
                          })});
  ASSERT_TRUE(control_->start().ok());
  ASSERT_TRUE(eventually([&] { return stuck.load(); }));
  const Status status = control_->shutdown(100 * kMillisecond);
  EXPECT_EQ(status.code(), Code::DeadlineExceeded);
  EXPECT_EQ(status.message(), "not ended within 100 ms and abandoned: stuck/0");
  EXPECT_EQ(control_->abandoned(), 1);
  release = true;
  release.notify_all();
  EXPECT_TRUE(eventually([&] { return control_->abandoned() == 0; }));
}

TEST_F(ControlPlaneTest, HungStepIsReplacedByAFreshLoop) {
  plane(50 * kMillisecond);
  std::atomic<bool> release{false};
  control_->add({.name = "hang/0", .restart = kQuick, .make = [&](Waker& w, int attempt) {
                   return one_worker("hang/0",
                                     [&, attempt](int64_t step, bool d) -> Result<StepResult> {
                                       if (attempt > 0) return idle_until_drained(step, d);
                                       if (step == 3) release.wait(false);
                                       return StepResult::progress();
                                     })(w, attempt);
                 }});
  ASSERT_TRUE(control_->start().ok());
  ASSERT_TRUE(
      eventually([&] { return status(0).restarts == 1 && status(0).state == LoopState::Running; }));
  EXPECT_EQ(status(0).abandoned, 1);
  EXPECT_EQ(status(0).last_error, "a step hangs for more than 50 ms (step 3)");
  EXPECT_EQ(control_->abandoned(), 1);
  release = true;
  release.notify_all();
  EXPECT_TRUE(eventually([&] { return control_->abandoned() == 0; }));
  EXPECT_EQ(status(0).steps, 2) << "late results are ignored";
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
}

TEST_F(ControlPlaneTest, StopNowEndsEveryLoopAfterItsStep) {
  plane();
  // These would never drain.
  control_->add({.name = "busy", .make = one_worker("busy", [](int64_t, bool) {
                                   return Result<StepResult>(StepResult::progress());
                                 })});
  control_->add({.name = "idle", .make = one_worker("idle", [](int64_t, bool) {
                                   return Result<StepResult>(StepResult::idle());
                                 })});
  ASSERT_TRUE(control_->start().ok());
  control_->stop_now();
  EXPECT_TRUE(control_->shutdown(10 * kSecond).ok());
  EXPECT_EQ(control_->outcome()->code(), Code::Cancelled);
  EXPECT_EQ(control_->checkpoint(10 * kSecond).status().message(),
            "no checkpoint: worker busy: busy was stopped before its end");
}

TEST_F(ControlPlaneTest, GoesWithoutAShutdown) {
  struct Tracked final : Worker {
    explicit Tracked(std::atomic<int>& count) : alive(count) { ++alive; }
    ~Tracked() override { --alive; }
    Result<StepResult> step() override { return StepResult::idle(); }
    std::atomic<int>& alive;
  };
  std::atomic<int> alive{0};
  plane();
  for (const char* name : {"a", "b"}) {
    control_->add({.name = name, .make = [&](Waker&, int) -> Result<std::vector<HostedWorker>> {
                     std::vector<HostedWorker> workers;
                     workers.push_back({"w", std::make_unique<Tracked>(alive)});
                     return workers;
                   }});
  }
  ASSERT_TRUE(control_->start().ok());
  EXPECT_EQ(alive, 2);
  control_.reset();
  EXPECT_EQ(alive, 0) << "threads and workers are gone";
}

TEST_F(ControlPlaneTest, NeedsAStart) {
  plane();
  EXPECT_EQ(control_->checkpoint(kSecond).status().code(), Code::FailedPrecondition);
  EXPECT_TRUE(control_->status(kSecond).empty());
  EXPECT_TRUE(control_->shutdown(kSecond).ok());
  control_->add({.name = "a", .make = one_worker("a", idle_until_drained)});
  control_->add({.name = "a", .make = one_worker("a", idle_until_drained)});
  EXPECT_EQ(control_->start().message(), "two loops are named 'a'");
}

TEST_F(ControlPlaneTest, StartsOnce) {
  plane();
  control_->add({.name = "a", .make = one_worker("a", idle_until_drained)});
  ASSERT_TRUE(control_->start().ok());
  EXPECT_EQ(control_->start().message(), "already started");
}

}  // namespace
}  // namespace sluice
