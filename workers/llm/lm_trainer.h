#pragma once
#include "dataflow/graph/ports.h"
#include "workers/llm/group_learner.h"
#include "workers/trainer_loop.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Trains a language model on groups and publishes a new version after each batch.
///
///   g.add("trainer", LmTrainer{.model = "smollm2", .groups = 8, .algorithm = grpo})
///       .reads(groups).publishes(weights);
struct LmTrainer {
  static constexpr std::string_view kRole = "trainer";
  using Reads = Ports<Stream<Group>>;
  using Publishes = Ports<Latest<Weights>>;

  std::string model = "";        ///< folder, .gguf file, or name of a fetched model
  int64_t groups = 8;            ///< per version
  int64_t prefetch = 0;          ///< batches taken from the stream ahead of use
  int64_t checkpoint_every = 0;  ///< versions between checkpoints; 0 = only at the end
  GroupLearnerConfig algorithm = {};

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// The loop of a trainer of language models. A batch is in order of its prompts; a step of the run
/// is one version.
class LmTrainerWorker final : public TrainerLoop<Group> {
 public:
  static constexpr const char* kModel = "model";  ///< blob of a checkpoint: LmTrainer::model

  LmTrainerWorker(const LmTrainer& spec, std::unique_ptr<BatchLearner<Group>> learner,
                  WorkerContext& context, StreamReader<Group> groups,
                  LatestPublisher<Weights> weights);

  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 protected:
  void arrange(std::vector<Item<Group>>& batch) const override;
  [[nodiscard]] int64_t steps_of(const std::vector<Item<Group>>& /*batch*/) const override {
    return 1;
  }
  void note(const Group& group) override;
  void report(RunControl& run) override;

 private:
  std::string model_;
  int64_t rollouts_ = 0;
  int64_t tokens_ = 0;
};

}  // namespace sluice
