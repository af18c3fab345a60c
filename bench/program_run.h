#pragma once
#include "apps/run/recipe.h"
#include "dataflow/base/waker.h"
#include "dataflow/placement/local_launcher.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::bench {

using RunState = std::map<std::string, Snapshot>;

/// A program run in this process without a run directory: checkpoints stay in memory. One thread.
class ProgramRun {
 public:
  explicit ProgramRun(Program program, uint64_t seed = 1, RunState restored = {});
  ~ProgramRun();

  /// Checks the graph and starts every loop.
  Status start();
  /// Looks after the run (serves its checkpoints) until `done()` holds, it has ended, or `within`
  /// has passed. Looks once per `tick`, and at once when the run asks for something. The error is
  /// the run's; running out of time is none.
  Status watch(TimeNs within, const std::function<bool()>& done, TimeNs tick = 10 * kMillisecond);
  /// To the end of the run; DeadlineExceeded after `within`.
  Status finish(TimeNs within);
  /// Ends all loops in order. A trainer that was asked to stop gets to its end first.
  Status stop();
  /// Asks the trainer to stop, then the same.
  Status stop_training();

  RunControl& control() noexcept { return control_; }
  [[nodiscard]] double value(std::string_view name) const {
    return control_.value(name).value_or(0);
  }
  MetricRegistry& metrics() noexcept { return metrics_; }
  /// The sum of a metric over all its labels.
  [[nodiscard]] double metric(std::string_view name) const;
  /// States at the newest checkpoint; empty before the first.
  [[nodiscard]] const RunState& state() const noexcept { return state_; }

 private:
  Program program_;
  MetricRegistry metrics_;
  Waker waker_;
  RunControl control_;
  RunState state_;
  std::unique_ptr<LocalLauncher> launcher_;
};

}  // namespace sluice::bench
