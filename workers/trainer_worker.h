#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/trajectory.h"
#include "dataflow/types/weights.h"
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

/// The loop of a trainer. Per version: take a batch (sorted by slot, so that the order of arrival
/// does not matter), learn from it minibatch by minibatch, checkpoint if it is due, publish, and
/// tell the stream. The checkpoint comes before the publication: an on-policy run is quiet then,
/// and the resumed run publishes that same version first.
class TrainerWorker final : public Worker {
 public:
  TrainerWorker(const Trainer& spec, std::unique_ptr<TrajectoryLearner> learner,
                WorkerContext& context, StreamReader<Trajectory> samples,
                LatestPublisher<Weights> weights);

  /// Chunks in hand are counted as lost.
  ~TrainerWorker() override;

  Result<StepResult> step() override;
  void drain() override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 private:
  enum class Phase : uint8_t { Publish, Collect, Learn, Checkpoint, LastCheckpoint, Done };

  Status announce();
  Status publish();
  Result<StepResult> collect();
  Status take_ahead(int64_t items);
  Status prefetch();
  Status begin(std::vector<Item<Trajectory>> items);
  Result<StepResult> learn();
  void finish_version();
  void drop_unused(Counter& reason);
  [[nodiscard]] bool run_is_over() const;

  Trainer spec_;
  std::unique_ptr<TrajectoryLearner> learner_;
  RunControl& run_;
  Clock& clock_;
  Waker& waker_;
  StreamReader<Trajectory> samples_;
  LatestPublisher<Weights> weights_;
  Phase phase_ = Phase::Publish;
  int64_t version_ = 0;    ///< step of the version to be published next, or published last
  int64_t env_steps_ = 0;  ///< environment steps learned from
  int64_t episodes_ = 0;
  uint32_t incarnation_ = 0;
  VersionTag current_;
  std::vector<Item<Trajectory>> ahead_;  ///< taken, not used yet; judged again at use
  std::vector<Item<Trajectory>> batch_;  ///< kept alive while it is learned from
  double batch_staleness_ = 0;           ///< mean over the batch
  std::deque<double> recent_returns_;    ///< of the last 100 episodes
  TimeNs began_ = 0;
  int64_t began_steps_ = 0;

  Counter& versions_;
  Counter& trained_steps_;
  Counter& dropped_at_end_;
  Counter& dropped_lost_;
  Histogram& staleness_;
};

}  // namespace sluice
