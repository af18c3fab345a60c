#pragma once
// For tests of actors: a system that runs on the test's thread only when told to, on virtual time.
#include "actors/caf_compat.h"
#include "dataflow/base/clock.h"

#include <caf/scheduler/test_coordinator.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice {

/// Owns an actor system without threads. settle() lets all actors handle what they have got;
/// advance() moves the time, from one delayed message to the next, so that each is handled at
/// exactly its time. Actors must have been told to end before this goes.
///
///   DeterministicActors actors;
///   auto it = actors.system().spawn(...);
///   const auto answer = actors.ask(it, msg::start_atom_v);
///   actors.advance(100 * kMillisecond);
///   EXPECT_EQ(*answer, "");
class DeterministicActors {
 public:
  DeterministicActors() : system_(config_) {
    // A failed test may leave an actor that waits for an answer.
    system_.await_actors_before_shutdown(false);
  }
  ~DeterministicActors() { settle(); }
  DeterministicActors(const DeterministicActors&) = delete;
  DeterministicActors& operator=(const DeterministicActors&) = delete;

  [[nodiscard]] caf::actor_system& system() { return system_; }
  /// The time of the system's delayed messages.
  [[nodiscard]] Clock& clock() { return clock_; }

  void settle() { coordinator().run(); }

  void advance(TimeNs by) {
    settle();
    auto& clock = coordinator().clock();
    const auto until = clock.current_time + std::chrono::nanoseconds(by);
    for (;;) {
      const auto& schedule = Schedule::of(clock);
      if (schedule.empty() || schedule.begin()->first > until) break;
      const auto due = schedule.begin()->first;
      clock.advance_time(due > clock.current_time ? due - clock.current_time
                                                  : std::chrono::nanoseconds(0));
      settle();
    }
    clock.advance_time(until - clock.current_time);
  }

  using Reply = std::shared_ptr<std::optional<std::string>>;
  /// Sends a request and lets the actors run. The reply is there as soon as it was given; an error
  /// shows as its text.
  template <class Handle, class... T>
  Reply ask(const Handle& whom, T... question) {
    auto reply = std::make_shared<std::optional<std::string>>();
    // With no argument at all CAF would dereference a null tuple.
    system_.spawn(
        [whom, question...](caf::event_based_actor* self, const Reply& out) {
          compat::request(self, whom, compat::kNoLimit, question...)
              .then([out](const std::string& text) { *out = text; },
                    [out](const caf::error& e) { *out = "error: " + compat::exit_text(e); });
        },
        reply);
    settle();
    return reply;
  }

 private:
  struct Config : caf::actor_system_config {
    Config() { set("scheduler.policy", caf::atom("testing")); }
  };
  struct Schedule : caf::detail::test_actor_clock {
    static const schedule_map& of(const caf::detail::test_actor_clock& clock) {
      return clock.*&Schedule::schedule_;
    }
  };
  class SystemClock final : public Clock {
   public:
    explicit SystemClock(DeterministicActors& owner) : owner_(owner) {}
    [[nodiscard]] TimeNs now() const noexcept override {
      return owner_.coordinator().clock().current_time.time_since_epoch().count();
    }

   private:
    DeterministicActors& owner_;
  };

  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }

  Config config_;
  caf::actor_system system_;
  SystemClock clock_{*this};
};

}  // namespace sluice
