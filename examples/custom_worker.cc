// A worker of your own beside those that come with Sluice: it follows the weights that a trainer
// publishes and reports how large they are.
#include "apps/run/run.h"
#include "dataflow/flow.h"
#include "workers/actor_critic_learner.h"
#include "workers/evaluator_worker.h"
#include "workers/policy_worker.h"
#include "workers/rollout_worker.h"
#include "workers/trainer_worker.h"

#include <cmath>

using namespace sluice;

namespace {

// [worker]
/// The work: plain state, no thread, no lock. step() never blocks; the channel wakes the loop.
class WeightMeterWorker final : public Worker {
 public:
  WeightMeterWorker(const std::string& number, WorkerContext& context,
                    LatestFollower<Weights> weights)
      : number_(number),
        run_(context.run()),
        weights_(std::move(weights)),
        seen_(context.metrics().counter("meter_versions_total", "Versions measured.",
                                        context.labels())) {}

  Result<StepResult> step() override {
    if (!weights_.has_newer(last_)) {
      if (!draining()) return StepResult::idle();
      weights_.close();  // a clean end: without it, this would count as a lost follower
      return StepResult::finished();
    }
    const auto [weights, tag] = weights_.current();
    double sum = 0;
    for (const auto& [name, tensor] : weights->tensors) {
      sum += tensor.square().sum().item<double>();
    }
    run_.report(number_, std::sqrt(sum));
    seen_.add();
    last_ = tag;
    return StepResult::progress();
  }

 private:
  std::string number_;
  RunControl& run_;
  LatestFollower<Weights> weights_;
  VersionTag last_;
  Counter& seen_;
};
// [/worker]

// [spec]
/// What the graph sees: a role, ports, settings, and how to make one replica.
struct WeightMeter {
  static constexpr std::string_view kRole = "evaluator";
  using Follows = Ports<Latest<Weights>>;

  std::string number = "weight_norm";

  void bind(ConfigBinder& b) { b.field("number", number, "name of the number in metrics.jsonl"); }
  void check(std::vector<std::string>& problems) const {
    if (number.empty()) problems.emplace_back("number must not be empty");
  }
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const {
    ASSIGN_OR_RETURN(auto weights, context.follower<Weights>());
    return std::unique_ptr<Worker>(
        std::make_unique<WeightMeterWorker>(number, context, std::move(weights)));
  }
};
// [/spec]

Graph metered_ppo() {
  Graph g{"metered_ppo"};
  auto act = g.service<Observation, Action>("act").batch(up_to(16));
  auto samples = g.stream<Trajectory>("samples").capacity(16).admit_ahead(0, 16);
  auto weights = g.latest<Weights>("weights");
  const PpoConfig config{.learning_rate = 2e-3};
  g.add("rollout", Rollout{.ring = 16, .horizon = 64}).asks(act).writes(samples);
  g.add("policy", Policy{}).serves(act).follows(weights);
  g.add("trainer", Trainer{.batch = 16, .horizon = 64, .learner = ppo(config)})
      .reads(samples)
      .publishes(weights);
  g.add("evaluator", Evaluator{.has_target = true, .target = 150}).follows(weights);
  // [use]
  g.add("meter", WeightMeter{}).follows(weights);
  // [/use]
  return g;
}

}  // namespace

int main(int argc, char** argv) {
  return run(metered_ppo(), Placement::one_process().together("policy", "rollout"), argc, argv);
}
