#pragma once
#include "dataflow/base/random.h"
#include "dataflow/types/trajectory.h"
#include "envs/env.h"
#include "workers/batch_learner.h"
#include "workers/net_config.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

using TrajectoryLearner = BatchLearner<Trajectory>;

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
