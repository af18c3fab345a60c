#pragma once
#include "dataflow/base/random.h"
#include "dataflow/base/snapshot.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"
#include "envs/env.h"
#include "workers/net_config.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Turns batches of trajectories into new weights. One trainer replica owns one; used by its loop
/// thread only. A batch is learned from in bounded pieces, so that the loop stays responsive.
class TrajectoryLearner {
 public:
  using Stats = std::vector<std::pair<std::string, double>>;

  virtual ~TrajectoryLearner() = default;
  /// Takes a batch. The chunks stay alive and unchanged until step() has returned false.
  virtual Status begin(std::span<const std::shared_ptr<const Trajectory>> chunks) = 0;
  /// One minibatch; true while there is more to do. DataLoss when the numbers are not finite any
  /// more.
  virtual Result<bool> step() = 0;
  /// Named statistics of the last finished batch.
  [[nodiscard]] virtual Stats stats() const = 0;
  /// A copy of the current weights; the tag is left for the trainer to fill.
  [[nodiscard]] virtual Weights weights() const = 0;
  /// Everything a resumed run needs: parameters, moments, counters, normalisers.
  virtual Status save(Snapshot& out) const = 0;
  virtual Status load(const Snapshot& in) = 0;
};

/// What a learner is made from.
struct LearnerSetup {
  EnvSpec env;
  NetConfig net;
  int64_t batch = 0;      ///< chunks per batch
  int64_t horizon = 0;    ///< steps per chunk
  int64_t max_steps = 0;  ///< environment steps of the whole run, for schedules; 0 = open
  int threads = 1;
  RandomKey key{0};
};

/// Names an algorithm and makes learners for it. `check` says what cannot work before anything
/// starts.
struct LearnerFactory {
  std::string name;
  std::function<Result<std::unique_ptr<TrajectoryLearner>>(const LearnerSetup&)> make;
  std::function<void(const LearnerSetup&, std::vector<std::string>& problems)> check;
  std::function<void(ConfigBinder&)> bind;
};

}  // namespace sluice
