#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "workers/policy_model.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Serves a policy: answers observations with actions of the newest version it follows.
///
///   g.add("policy", Policy{.env = "CartPole-v1", .net = net}).serves(act).follows(weights);
struct Policy {
  static constexpr std::string_view kRole = "inference";
  using Serves = Ports<Service<Observation, Action>>;
  using Follows = Ports<Latest<Weights>>;

  std::string env = "CartPole-v1";  ///< environment whose spaces the network is made for
  NetConfig net = {};

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  [[nodiscard]] PortSchemas schemas() const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Takes batches as the service cuts them, swaps weights between batches only, and stamps every
/// answer with the version that made it. Before the first version it lets the questions wait. A
/// version that does not match its digest is passed over, with a warning.
class PolicyWorker final : public Worker {
 public:
  PolicyWorker(PolicyModel model, WorkerContext& context, ServiceServer<Observation, Action> server,
               LatestFollower<Weights> weights);

  Result<StepResult> step() override;

 private:
  Status follow();
  void answer();

  PolicyModel model_;
  ServiceServer<Observation, Action> server_;
  LatestFollower<Weights> weights_;
  VersionTag seen_;  ///< newest version looked at, installed or not
  std::vector<std::unique_ptr<Exchange<Observation, Action>>> batch_;
  std::vector<PolicyModel::Question> questions_;
  int64_t counted_passes_ = 0;
  Counter& answered_;
  Counter& passes_;
  Counter& swaps_;
  Counter& refused_;
  Gauge& version_;
};

}  // namespace sluice
