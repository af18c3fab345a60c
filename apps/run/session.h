#pragma once
#include "apps/observe/checkpoint_store.h"
#include "apps/observe/metrics_jsonl.h"
#include "apps/observe/progress.h"
#include "apps/observe/prometheus_exporter.h"
#include "apps/observe/run_dir.h"
#include "apps/observe/tensorboard.h"
#include "apps/run/settings.h"
#include "apps/run/signals.h"
#include "dataflow/base/metrics.h"
#include "dataflow/graph/run_control.h"
#include "dataflow/placement/local_launcher.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace sluice {

/// One run of a program from its directory's first file to its last: launches the graph, watches
/// it, writes checkpoints and metrics when they are due, shows progress, and ends it in order.
///
/// Ends when the trainer has had its steps, when something asked to stop (a target, the time limit,
/// Ctrl-C once: the trainer finishes what it is at, checkpoints, and everything drains), when a
/// worker has spent its restarts, or at once at the second Ctrl-C.
class Session {
 public:
  /// `id` is the run's identity, the same after a resume.
  Session(ResolvedRun run, const RunOptions& options, RunDir dir, uint64_t id);
  ~Session();

  /// Runs to the end and returns the process's exit code: 0 = ended well and saved, 1 = failed, 2 =
  /// could not start (a new directory is then removed again), 130 = cut off.
  int run();

  [[nodiscard]] const RunControl& control() const noexcept { return control_; }

 private:
  Status open(bool resume);
  int refuse(const Status& why, bool resume);
  Status launch();
  int watch();
  int close(const Status& outcome, bool cut_off, const SignalWatch* signals);
  /// Drains all loops; the second Ctrl-C cuts it short. False when threads are left behind.
  bool shut_down(TimeNs grace, bool& cut_off, const SignalWatch* signals);
  void write_checkpoint(const SignalWatch& signals);
  /// A checkpoint nobody asked for, because the run ends before its time.
  void save_what_there_is(const SignalWatch& signals);
  void write_metrics(bool last);
  void show_progress(bool last);
  void ask_to_stop(std::string_view reason);
  /// Why what the run ended with is not on disk; OK when it is.
  [[nodiscard]] Status unsaved() const;
  [[nodiscard]] double seconds() const;
  [[nodiscard]] std::string summary() const;

  ResolvedRun run_;
  const RunOptions& options_;
  RunDir dir_;
  RealClock& clock_;
  Waker waker_;
  MetricRegistry metrics_;
  RunControl control_;
  CheckpointStore checkpoints_;
  std::map<std::string, Snapshot> restored_;
  std::optional<MetricsJsonl> jsonl_;
  std::optional<TensorboardWriter> events_;
  std::unique_ptr<PrometheusExporter> exporter_;
  std::unique_ptr<LocalLauncher> launcher_;
  std::unique_ptr<Progress> progress_;
  std::thread saver_;  ///< waits for the workers' states; joinable after a save was given up
  TimeNs began_ = 0;
  TimeNs stop_by_ = kForever;  ///< when an orderly end is given up
  TimeNs next_row_ = 0;
  double last_row_steps_ = -1;
  bool metrics_lost_ = false;  ///< the last row could not be written, and that was said
  Status last_save_;           ///< what became of the latest checkpoint that was asked for
  Counter& saved_;
  Counter& save_failures_;
};

}  // namespace sluice
