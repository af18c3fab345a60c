#pragma once
#include "actors/control_plane.h"
#include "dataflow/graph/graph.h"
#include "dataflow/graph/run_control.h"
#include "dataflow/transport/local_transport.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice {

/// What a launch needs beside the graph and its placement. References must outlive the launcher.
struct LaunchOptions {
  Clock& clock;
  MetricRegistry& metrics;
  RunControl& run;
  uint64_t seed = 1;
  TimeNs step_deadline = 0;  ///< see ControlOptions
  RestartPolicy restart = {};
  /// States of a checkpoint to go on from, by "worker/replica"; empty for a fresh run.
  std::map<std::string, Snapshot> restored = {};
  /// The newest checkpoint of this run, for a trainer that comes back; may be empty.
  std::function<Result<std::map<std::string, Snapshot>>()> last_checkpoint = {};
};

/// Runs a graph in this process: one loop per replica (workers placed together share one), channels
/// by pointer, everything supervised by a ControlPlane.
///
/// A rollout, buffer, inference or evaluator replica that fails comes back empty; a trainer comes
/// back from the newest checkpoint, under the next incarnation.
class LocalLauncher {
 public:
  /// The graph must have passed check() under this placement.
  LocalLauncher(const Graph& graph, const Placement& placement, LaunchOptions options);
  ~LocalLauncher();

  Status start() { return control_.start(); }
  ControlPlane& control() noexcept { return control_; }

 private:
  class Opener;
  void add_loops();
  Result<HostedWorker> make_worker(const WorkerDecl& decl, int64_t replica, Waker& waker,
                                   int attempt);
  Result<Snapshot> state_for(const WorkerDecl& decl, const std::string& name, int attempt);

  const Graph& graph_;
  const Placement& placement_;
  LaunchOptions options_;
  LocalTransport transport_;
  std::unique_ptr<Opener> opener_;
  ControlPlane control_;  // last: its loops use all of the above
};

}  // namespace sluice
