#pragma once
#include "dataflow/base/clock.h"
#include "dataflow/base/metrics.h"
#include "dataflow/base/result.h"
#include "dataflow/base/snapshot.h"
#include "dataflow/base/waker.h"
#include "dataflow/base/whereabouts.h"
#include "dataflow/base/worker.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A worker with the name its metrics and its saved state go by.
struct HostedWorker {
  std::string name;
  std::unique_ptr<Worker> worker;
  /// Where it is inside a step; may be null.
  std::shared_ptr<const Whereabouts> where = nullptr;
};

/// A failed loop is started again after `backoff`, doubled with every further failure up to
/// `max_backoff`. More than `max_restarts` failures `within` a sliding window end the run, and so
/// does a loop that can never be made when the run begins.
struct RestartPolicy {
  int64_t max_restarts = 3;
  TimeNs within = 60 * kSecond;
  TimeNs backoff = 100 * kMillisecond;
  TimeNs max_backoff = 5 * kSecond;
};

/// One thread and the workers it hosts.
struct LoopSpec {
  std::string name;       ///< "rollout/0", or "rollout/0+policy/0"; unique
  int stage = 0;          ///< shutdown order: 0 sources, 1 services, 2 trainer; started in reverse
  bool ends_run = false;  ///< the run ends well once every loop so marked has finished
  RestartPolicy restart = {};
  /// A checkpoint without the state of this loop is worth nothing.
  bool essential = true;
  /// Builds and wires the workers and restores their state. Runs on the loop's thread, attempt 0
  /// first and one more after each failure. The Waker outlives the workers; a restart gets the same
  /// one, except after a hang.
  std::function<Result<std::vector<HostedWorker>>(Waker&, int attempt)> make = {};
};

enum class LoopState : int32_t {
  Configured,
  Running,
  Paused,
  Draining,
  Finished,
  Failed,
  Restarting
};
std::string_view name(LoopState state) noexcept;

struct LoopStatus {
  std::string name;
  LoopState state = LoopState::Configured;
  int64_t restarts = 0;
  int64_t abandoned = 0;   ///< threads given up because a step hung
  int64_t steps = 0;       ///< steps that made progress, over all attempts
  double busy = 0;         ///< share of this attempt's time not spent waiting, 0..1
  std::string last_error;  ///< of the latest failed attempt; "" when none failed
};

struct ControlOptions {
  Clock& clock;
  MetricRegistry& metrics;
  /// A step, or a save, that takes longer is reported as hung: its thread is abandoned and the loop
  /// restarted within its budget. Making the workers may take ten times as long. 0: never.
  TimeNs step_deadline = 0;
  /// How long start() waits for all loops to be made.
  TimeNs start_within = 600 * kSecond;
};

/// Runs and supervises loops. Knows nothing of graphs or channels.
///
///   ControlPlane control({clock, metrics});
///   control.add({.name = "rollout/0", .make = make_rollout});
///   RETURN_IF_ERROR(control.start());
///   while (!control.outcome()) waker.wait(...);
///   RETURN_IF_ERROR(control.shutdown(10 * kSecond));
///
/// add() and start() from one thread; everything else from any thread after start(). What the
/// loops refer to (channels, clock, metrics) must outlive this object, and in a run that abandoned
/// a hung thread it must outlive that thread: then leave the process with std::_Exit.
class ControlPlane {
 public:
  explicit ControlPlane(ControlOptions options);
  /// Stops what still runs, as stop_now() and a shutdown of one second would.
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  void add(LoopSpec spec);
  /// Starts stage after stage, last stage first; returns when every loop was made once, or with
  /// the reason of the first loop whose restart budget was spent or that cannot be made whatever
  /// the number of tries: InvalidArgument, FailedPrecondition, NotFound and DataLoss of its make()
  /// (call shutdown() then, too).
  Status start();

  /// Every loop stops between two steps, or goes on. Returns before they have; see status().
  void pause();
  void resume();
  /// Every worker saved between two of its steps; keyed by HostedWorker name. Finished workers give
  /// their final state. A loop that is down and not essential has none: it comes back empty anyway.
  /// Unavailable when an essential loop is down, DeadlineExceeded after `within`.
  Result<std::map<std::string, Snapshot>> checkpoint(TimeNs within);
  /// One entry per loop in order of add(); empty when the supervisor does not answer `within`.
  std::vector<LoopStatus> status(TimeNs within);
  /// Drains stage after stage, first stage first, and returns when all loops have ended. A stage
  /// that uses up its part of `grace` is stopped between two steps instead; a loop that does not
  /// even do that by the end of `grace` is abandoned. Both give DeadlineExceeded with the names.
  /// Loops that failed have ended: they are not restarted any more.
  Status shutdown(TimeNs grace);
  /// Stops every loop after its current step, without draining; also cuts a running shutdown()
  /// short. Returns at once.
  void stop_now();

  /// Set once the run has ended: OK, or the one-line reason. The loops go on until shutdown().
  std::optional<Status> outcome() const;
  /// Threads abandoned so far and still stuck in a worker.
  int64_t abandoned() const;
  /// Woken when the outcome or the state of a loop changes. May be null; must outlive this object.
  void set_waker(Waker* waker);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
