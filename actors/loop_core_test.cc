#include "actors/loop_core.h"

#include "tests/support/scripted_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

Result<StepResult> finished() { return StepResult::finished(); }
Result<StepResult> progress() { return StepResult::progress(); }

/// Runs the loop on the test's own thread; the workers' steps give the commands.
class LoopCoreTest : public testing::Test, public LoopListener {
 protected:
  void started() override { heard_.push_back("started"); }
  void saved(int64_t ticket, const Status& status) override {
    heard_.push_back(fmt::format("saved {} {}", ticket, status.ok() ? "ok" : status.message()));
  }
  void ended(const Status& status) override {
    heard_.push_back("ended " + (status.ok() ? "ok" : status.message()));
  }

  void make_core(decltype(LoopSpec::make) make) {
    core_ =
        std::make_unique<LoopCore>(LoopSpec{.name = "loop", .make = std::move(make)},
                                   ControlOptions{.clock = clock_, .metrics = metrics_}, waker_);
    core_->listen(this);
  }
  void run(ScriptedWorker::Step step, ScriptedWorker::Save save = nullptr) {
    make_core(one_worker("w", std::move(step), std::move(save)));
    core_->run(0);
  }
  using Lines = std::vector<std::string>;

  VirtualClock clock_;
  MetricRegistry metrics_;
  std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  std::unique_ptr<LoopCore> core_;
  Lines heard_;
};

TEST_F(LoopCoreTest, StepsUntilTheWorkerHasFinished) {
  run([](int64_t step, bool) { return step < 5 ? progress() : finished(); });
  EXPECT_EQ(heard_, (Lines{"started", "ended ok"}));
  EXPECT_EQ(core_->probe().state, LoopState::Finished);
  EXPECT_EQ(core_->probe().steps, 4);
  EXPECT_EQ(core_->probe().beats, 5U);
  EXPECT_EQ(metrics_.counter("sluice_worker_steps_total", "", {{"worker", "w"}}).value(), 4);
  EXPECT_EQ(core_->take_final()->size(), 1U);
}

TEST_F(LoopCoreTest, SeveralWorkersTakeTurnsUntilTheLastHasFinished) {
  Lines turns;
  make_core([&](Waker&, int) -> Result<std::vector<HostedWorker>> {
    std::vector<HostedWorker> workers;
    for (const char* name : {"a", "b"}) {
      const int64_t last = name[0] == 'a' ? 2 : 4;
      const auto step = [&, name, last](int64_t n, bool) -> Result<StepResult> {
        turns.push_back(fmt::format("{}{}", name, n));
        if (n == last) return StepResult::finished();
        if (n < 3) return StepResult::progress();
        waker_->wake();
        return StepResult::idle();
      };
      workers.push_back({name, std::make_unique<ScriptedWorker>(step)});
    }
    return workers;
  });
  core_->request_save(1);
  core_->run(0);
  EXPECT_EQ(turns, (Lines{"a1", "b1", "a2", "b2", "b3", "b4"}));
  EXPECT_EQ(heard_, (Lines{"started", "saved 1 ok", "ended ok"}));
  EXPECT_EQ(core_->take_saved(1)->size(), 2U);
  const auto last = core_->take_final();
  ASSERT_EQ(last->size(), 2U);
  int64_t steps = 0;
  ASSERT_TRUE(last->at("a").get_value("steps", steps).ok());
  EXPECT_EQ(steps, 2) << "as it was when it finished";
}

TEST_F(LoopCoreTest, BusyAndIdleSecondsAreCounted) {
  const auto total = [this](const char* name) {
    return metrics_.double_counter(name, "", {{"worker", "loop"}}).value();
  };
  std::thread other;
  run([&](int64_t step, bool) -> Result<StepResult> {
    clock_.advance(2 * kSecond);
    if (step == 2) return progress();
    if (step == 3) return finished();
    other = std::thread([this] {  // time passes once the loop waits
      while (core_->probe().stepping) std::this_thread::yield();
      clock_.advance(5 * kSecond);
      waker_->wake();
    });
    return StepResult::idle();
  });
  other.join();
  EXPECT_EQ(total("sluice_worker_busy_seconds_total"), 6);
  EXPECT_EQ(total("sluice_worker_idle_seconds_total"), 5);
}

TEST_F(LoopCoreTest, TheStateIsAGauge) {
  const Gauge& state = metrics_.gauge("sluice_worker_state", "", {{"worker", "loop"}});
  std::vector<double> seen;
  run(
      [&](int64_t step, bool) {
        seen.push_back(state.value());
        if (step == 1) core_->set_paused(true);
        if (step == 1) core_->request_save(1);
        if (step == 2) core_->request_drain();
        return step < 3 ? progress() : finished();
      },
      [&]() -> Status {
        seen.push_back(state.value());
        if (core_->probe().state == LoopState::Paused) core_->set_paused(false);
        core_->request_save(2);
        return {};
      });
  EXPECT_EQ(state.value(), static_cast<double>(LoopState::Finished));
  EXPECT_THAT(seen, testing::IsSupersetOf({static_cast<double>(LoopState::Running),
                                           static_cast<double>(LoopState::Paused),
                                           static_cast<double>(LoopState::Draining)}));
  run([](int64_t, bool) -> Result<StepResult> { return error(Code::Internal, "boom"); });
  EXPECT_EQ(state.value(), static_cast<double>(LoopState::Failed));
}

TEST_F(LoopCoreTest, IdleUntilATimeThatHasPassedDoesNotWait) {
  run([this](int64_t step, bool) -> Result<StepResult> {
    clock_.advance(kSecond);
    return step < 3 ? StepResult::idle(clock_.now() - 1) : finished();
  });
  EXPECT_EQ(core_->probe().beats, 3U);
  EXPECT_EQ(core_->probe().busy, 1) << "no time was spent waiting";
}

TEST_F(LoopCoreTest, IdleUntilATimeToComeEndsByItself) {
  run([this](int64_t step, bool) -> Result<StepResult> {
    return step < 3 ? StepResult::idle(clock_.now() + 1) : finished();
  });
  EXPECT_EQ(core_->probe().beats, 3U);
}

TEST_F(LoopCoreTest, AWakeBetweenTheStepAndTheWaitIsNotLost) {
  run([this](int64_t step, bool) -> Result<StepResult> {
    if (step == 3) return finished();
    waker_->wake();
    return StepResult::idle();
  });
  EXPECT_EQ(core_->probe().beats, 3U);
}

TEST_F(LoopCoreTest, ErrorsAndExceptionsSayWhereTheyCameFrom) {
  const auto fails = [](auto what) {
    return [what](int64_t step, bool) -> Result<StepResult> {
      if (step < 17) return StepResult::progress();
      return what();
    };
  };
  run(fails([]() -> Result<StepResult> { return error(Code::DataLoss, "bad bytes"); }));
  run(fails([]() -> Result<StepResult> { throw std::runtime_error("boom"); }));
  run(fails([]() -> Result<StepResult> { throw 1; }));
  EXPECT_EQ(heard_,
            (Lines{"started", "ended bad bytes (step 17)", "started", "ended boom (step 17)",
                   "started", "ended unknown exception (step 17)"}));
  EXPECT_EQ(core_->probe().state, LoopState::Failed);
  EXPECT_FALSE(core_->take_final().ok());
}

TEST_F(LoopCoreTest, AFailedMakeNeverStarts) {
  const std::vector<decltype(LoopSpec::make)> bad = {
      [](Waker&, int) -> Result<std::vector<HostedWorker>> { throw std::runtime_error("boom"); },
      [](Waker&, int) -> Result<std::vector<HostedWorker>> {
        return error(Code::NotFound, "no file");
      },
      [](Waker&, int) -> Result<std::vector<HostedWorker>> {
        std::vector<HostedWorker> workers;
        workers.push_back({"w", nullptr});
        return workers;
      },
      nullptr};
  for (const auto& make : bad) {
    make_core(make);
    core_->run(0);
  }
  EXPECT_EQ(heard_,
            (Lines{"ended make: boom", "ended make: no file", "ended make: worker 'w' is null",
                   "ended make: the loop has no make function"}));
}

TEST_F(LoopCoreTest, DrainIsToldToTheWorkerOnceAndEndsAPause) {
  Lines states;
  run([&](int64_t step, bool draining) -> Result<StepResult> {
    states.push_back(fmt::format("{} {}", name(core_->probe().state), draining));
    if (step == 1) {
      core_->set_paused(true);
      core_->request_drain();
    }
    if (step == 2) core_->set_paused(true);
    return step < 3 ? StepResult::progress() : StepResult::finished();
  });
  EXPECT_EQ(states, (Lines{"running false", "draining true", "draining true"}));
  EXPECT_EQ(heard_.back(), "ended ok");
}

TEST_F(LoopCoreTest, PausedLoopTakesNoStepButSaves) {
  int64_t steps = 0;
  run(
      [&](int64_t step, bool) -> Result<StepResult> {
        steps = step;
        if (step > 1) return finished();
        core_->set_paused(true);
        core_->request_save(4);
        return StepResult::progress();
      },
      [this]() -> Status {
        if (core_->probe().state == LoopState::Paused) core_->set_paused(false);
        core_->request_save(5);  // for the next look
        return {};
      });
  // The first save comes with the pause; the second is heard while paused and ends it.
  ASSERT_GE(heard_.size(), 3U);
  EXPECT_EQ(heard_[1], "saved 4 ok");
  EXPECT_EQ(heard_[2], "saved 5 ok");
  EXPECT_EQ(heard_.back(), "ended ok");
  EXPECT_EQ(steps, 2);
}

TEST_F(LoopCoreTest, ASaveCanBeSeenToHangAsAStepCan) {
  LoopProbe inside;
  run(
      [&](int64_t step, bool) -> Result<StepResult> {
        if (step == 1) core_->request_save(4);
        return step == 1 ? progress() : finished();
      },
      [&]() -> Status {
        inside = core_->probe();
        return {};
      });
  EXPECT_TRUE(inside.stepping);
}

TEST_F(LoopCoreTest, StopEndsItWithoutDrainingAndLeavesNoFinalState) {
  bool drained = false;
  run([&](int64_t, bool draining) {
    drained = drained || draining;
    core_->request_stop();
    core_->request_save(1);
    return progress();
  });
  EXPECT_FALSE(drained);
  EXPECT_EQ(core_->probe().beats, 1U);
  EXPECT_EQ(heard_, (Lines{"started", "ended ok"}));
  EXPECT_EQ(core_->take_saved(1).status().message(), "w was stopped before its end");
  EXPECT_EQ(core_->take_final().status().message(), "w was stopped before its end");
}

TEST_F(LoopCoreTest, ASaveThatFailsIsReportedAndTheLoopGoesOn) {
  for (const bool throws : {false, true}) {
    heard_.clear();
    run(
        [&](int64_t step, bool) {
          if (step == 1) core_->request_save(9);
          return step < 3 ? progress() : finished();
        },
        [&]() -> Status {
          if (core_->probe().steps > 1) return {};
          if (throws) throw std::runtime_error("disk");
          return error(Code::ResourceExhausted, "disk");
        });
    EXPECT_EQ(heard_, (Lines{"started", "saved 9 w: disk", "ended ok"}));
    EXPECT_FALSE(core_->take_saved(9).ok());
    EXPECT_TRUE(core_->take_final().ok());
  }
}

TEST_F(LoopCoreTest, ASavedTicketSurvivesTheFailureThatFollows) {
  run([&](int64_t step, bool) -> Result<StepResult> {
    core_->request_save(3);
    if (step == 2) return error(Code::Internal, "boom");
    return StepResult::progress();
  });
  EXPECT_EQ(heard_, (Lines{"started", "saved 3 ok", "ended boom (step 2)"}));
  EXPECT_EQ(core_->take_saved(3)->size(), 1U);
  EXPECT_EQ(core_->take_saved(3).status().message(), "taken already");
  EXPECT_EQ(core_->take_saved(4).status().message(), "not saved");
}

TEST_F(LoopCoreTest, AGoodEndAnswersTicketsThatCameTooLate) {
  run([&](int64_t, bool) {
    core_->request_save(3);
    return finished();
  });
  EXPECT_EQ(heard_, (Lines{"started", "ended ok"}));
  EXPECT_EQ(core_->take_saved(3)->size(), 1U);
  EXPECT_EQ(core_->take_final()->size(), 1U) << "and still has its final state";
}

TEST_F(LoopCoreTest, AnAbandonedLoopCleansUpInSilence) {
  bool gone = false;
  struct Flag {
    explicit Flag(bool& f) : flag(f) {}
    ~Flag() { flag = true; }
    bool& flag;
  };
  run([&, flag = std::make_shared<Flag>(gone)](int64_t, bool) {
    core_->abandon();
    EXPECT_TRUE(core_->stuck());
    return progress();
  });
  EXPECT_EQ(heard_, Lines{"started"});
  EXPECT_FALSE(core_->stuck());
  EXPECT_EQ(core_->probe().beats, 1U);
  EXPECT_EQ(metrics_.counter("sluice_worker_steps_total", "", {{"worker", "w"}}).value(), 0)
      << "late results are ignored";
  core_.reset();
  EXPECT_TRUE(gone);
}

TEST_F(LoopCoreTest, AnAbandonedLoopStepsNoOtherWorker) {
  bool stepped = false;
  make_core([&](Waker&, int) -> Result<std::vector<HostedWorker>> {
    std::vector<HostedWorker> workers;
    workers.push_back({"hangs", std::make_unique<ScriptedWorker>([&](int64_t, bool) {
                         core_->abandon();
                         return Result<StepResult>(StepResult::idle());
                       })});
    workers.push_back({"guest", std::make_unique<ScriptedWorker>([&](int64_t, bool) {
                         stepped = true;
                         return finished();
                       })});
    return workers;
  });
  core_->run(0);
  EXPECT_FALSE(stepped);
  EXPECT_EQ(heard_, Lines{"started"});
}

TEST_F(LoopCoreTest, TheProbeNamesTheStepUnderWay) {
  LoopProbe inside;
  run([&](int64_t step, bool) {
    if (step == 3) inside = core_->probe();
    return step < 3 ? progress() : finished();
  });
  EXPECT_TRUE(inside.stepping);
  EXPECT_EQ(inside.current, 3);
  EXPECT_EQ(inside.beats, 2U);
  EXPECT_FALSE(core_->probe().stepping);
}

}  // namespace
}  // namespace sluice
