#include "actors/loop_host.h"

#include "tests/support/scripted_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sluice {
namespace {

/// Counts what the thread of a loop says. No actor is involved, so a data race has nowhere to hide.
class Listener final : public LoopListener {
 public:
  void started() override { bump(started_); }
  void saved(int64_t ticket, const Status& status) override {
    EXPECT_TRUE(status.ok()) << status.to_string();
    ticket_ = ticket;
    ticket_.notify_all();
  }
  void ended(const Status& status) override {
    EXPECT_TRUE(status.ok()) << status.to_string();
    bump(ended_);
  }
  void wait_started() const { started_.wait(0); }
  void wait_ended() const { ended_.wait(0); }
  void wait_saved(int64_t ticket) const {
    for (int64_t now = ticket_; now != ticket; now = ticket_) ticket_.wait(now);
  }
  [[nodiscard]] int ended() const { return ended_; }

 private:
  static void bump(std::atomic<int>& value) {
    ++value;
    value.notify_all();
  }
  std::atomic<int> started_{0};
  std::atomic<int> ended_{0};
  std::atomic<int64_t> ticket_{0};
};

class LoopHostTest : public testing::Test {
 protected:
  std::unique_ptr<LoopHost> host(ScriptedWorker::Step step) {
    return std::make_unique<LoopHost>(
        LoopSpec{.name = "loop", .make = one_worker("w", std::move(step))},
        ControlOptions{.clock = RealClock::instance(), .metrics = metrics_},
        std::make_shared<Waker>());
  }
  MetricRegistry metrics_;
  Listener listener_;
};

TEST_F(LoopHostTest, ObeysWhileOthersLookOn) {
  const auto loop = host([](int64_t step, bool draining) -> Result<StepResult> {
    if (draining) return StepResult::finished();
    return step % 3 == 0 ? StepResult::idle(RealClock::instance().now() + 1000)
                         : StepResult::progress();
  });
  loop->start(listener_, 0);
  std::atomic<bool> looking{true};
  std::thread observer([&] {
    while (looking) {
      const LoopProbe probe = loop->probe();
      EXPECT_GE(probe.steps, 0);
      (void)metrics_.snapshot();
    }
  });
  listener_.wait_started();
  for (int64_t ticket = 1; ticket <= 200; ++ticket) {
    if (ticket % 10 == 0) loop->pause();
    loop->checkpoint(ticket);
    listener_.wait_saved(ticket);
    const auto saved = loop->take_saved(ticket);
    ASSERT_TRUE(saved.ok());
    EXPECT_EQ(saved->count("w"), 1U);
    loop->resume();
  }
  loop->drain();
  listener_.wait_ended();
  looking = false;
  observer.join();
  EXPECT_TRUE(loop->take_final().ok());
  EXPECT_EQ(loop->probe().state, LoopState::Finished);
}

TEST_F(LoopHostTest, GoesInOrderWhileItsThreadRuns) {
  for (int i = 0; i < 50; ++i) {
    Listener listener;
    auto loop = host([](int64_t, bool) -> Result<StepResult> { return StepResult::progress(); });
    loop->start(listener, 0);
    loop.reset();
    EXPECT_EQ(listener.ended(), 1) << "the thread has been joined";
  }
}

TEST_F(LoopHostTest, AbandonedThreadComesBackUnheard) {
  std::atomic<int> entered{0};
  std::atomic<int> release{0};
  std::shared_ptr<LoopHost> loop = host([&](int64_t, bool) -> Result<StepResult> {
    entered = 1;
    entered.notify_all();
    release.wait(0);
    return StepResult::progress();
  });
  loop->start(listener_, 0);
  entered.wait(0);
  loop->abandon();
  EXPECT_TRUE(loop->stuck());
  release = 1;
  release.notify_all();
  while (loop->stuck()) std::this_thread::yield();
  EXPECT_EQ(listener_.ended(), 0);
}

}  // namespace
}  // namespace sluice
