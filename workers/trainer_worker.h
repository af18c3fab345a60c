#pragma once
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"
#include "workers/trainer_loop.h"
#include "workers/trajectory_learner.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Trains a policy on batches of chunks and publishes a new version after each.
///
///   g.add("trainer", Trainer{.env = env, .net = net, .batch = 64, .horizon = 128, .learner =
///   ppo(config)})
///       .reads(samples).publishes(weights);
struct Trainer {
  static constexpr std::string_view kRole = "trainer";
  using Reads = Ports<Stream<Trajectory>>;
  using Publishes = Ports<Latest<Weights>>;

  std::string env = "CartPole-v1";
  NetConfig net = {};
  int64_t batch = 64;            ///< chunks per version
  int64_t horizon = 128;         ///< steps per chunk, as the rollouts write them
  int64_t prefetch = 0;          ///< batches taken from the stream ahead of use
  int64_t schedule_steps = 0;    ///< environment steps that schedules are laid out for; 0 = open
  int64_t checkpoint_every = 0;  ///< versions between checkpoints; 0 = only at the end
  LearnerFactory learner = {};

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  [[nodiscard]] PortSchemas schemas() const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// The loop of a trainer of control policies. A version's batch is sorted by slot; steps are steps
/// of environments.
class TrainerWorker final : public TrainerLoop<Trajectory> {
 public:
  TrainerWorker(const Trainer& spec, std::unique_ptr<TrajectoryLearner> learner,
                WorkerContext& context, StreamReader<Trajectory> samples,
                LatestPublisher<Weights> weights);

  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 protected:
  void arrange(std::vector<Item<Trajectory>>& batch) const override;
  [[nodiscard]] int64_t steps_of(const std::vector<Item<Trajectory>>& batch) const override;
  void note(const Trajectory& chunk) override;
  void report(RunControl& run) override;

 private:
  std::string env_;
  NetConfig net_;
  int64_t episodes_ = 0;
  std::deque<double> recent_returns_;  ///< of the last 100 episodes
};

}  // namespace sluice
