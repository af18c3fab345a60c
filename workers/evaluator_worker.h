#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "workers/evaluation.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Scores versions of a policy while it trains.
///
///   g.add("evaluator", Evaluator{.env = env, .net = net, .every = 10}).follows(weights);
struct Evaluator {
  static constexpr std::string_view kRole = "evaluator";
  using Follows = Ports<Latest<Weights>>;

  std::string env = "CartPole-v1";
  NetConfig net = {};
  int64_t every = 10;  ///< evaluate version 0, every, 2 every, ..: the newest one that is due
  int64_t episodes = 20;
  bool has_target = false;  ///< end the run when a score reaches `target`
  double target = 0;

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  [[nodiscard]] PortSchemas schemas() const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Pins a version when an evaluation starts and keeps it to the end, whatever is published
/// meanwhile: a score always belongs to exactly one version. When the run drains it scores the last
/// version.
class EvaluatorWorker final : public Worker {
 public:
  EvaluatorWorker(const Evaluator& spec, PolicyModel model, WorkerContext& context,
                  LatestFollower<Weights> weights);

  Result<StepResult> step() override;

 private:
  Result<bool> begin_next();
  void report();

  Evaluator spec_;
  PolicyModel model_;
  RunControl& run_;
  LatestFollower<Weights> weights_;
  RandomKey key_;
  std::shared_ptr<Whereabouts> where_;
  std::optional<Evaluation> running_;
  int64_t next_due_ = 0;
  VersionTag last_scored_;
};

}  // namespace sluice
