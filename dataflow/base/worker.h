#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/result.h"
#include "dataflow/base/snapshot.h"

#include <cstdint>

namespace sluice {

/// What one call of Worker::step() came to.
struct StepResult {
  enum class Kind : uint8_t { Progress, Idle, Finished };
  Kind kind = Kind::Progress;
  TimeNs until = kForever;  ///< Idle: call again at this time even if nothing wakes the loop

  /// Did something; call again at once.
  static StepResult progress() { return {Kind::Progress, 0}; }
  /// Nothing to do until the loop's Waker is woken, or until the given time.
  static StepResult idle(TimeNs until = kForever) { return {Kind::Idle, until}; }
  /// This worker has done all it ever will. Its endpoints may be closed.
  static StepResult finished() { return {Kind::Finished, kForever}; }
};

/// The work of one replica of a worker: plain state without threads, sockets or actors. A loop
/// thread (one per placed replica; workers placed together share one) calls step() again and again
/// and waits on its Waker when every worker it hosts is idle. All methods are called by that thread
/// only, so a worker needs no locks, and a test can drive it by hand on virtual time.
///
/// step() must not block: it does what can be done now, in bounded time (aim for under 10 ms, at
/// most one minibatch or one ring of environment steps), and returns. An error status or an
/// exception ends the worker; the supervisor then builds a fresh one from the same recipe and wires
/// it to the same channels.
class Worker {
 public:
  virtual ~Worker() = default;

  virtual Result<StepResult> step() = 0;

  /// "Refuse new work, finish what is under way": called once when the run drains. Afterwards
  /// step() is called until it returns finished().
  virtual void drain() { draining_ = true; }

  /// Adds the state that a resumed run needs. Called between two steps.
  virtual Status save(Snapshot& /*out*/) const { return {}; }
  /// Takes over a saved state. Called before the first step.
  virtual Status load(const Snapshot& /*in*/) { return {}; }

 protected:
  [[nodiscard]] bool draining() const noexcept { return draining_; }

 private:
  bool draining_ = false;
};

}  // namespace sluice
