#pragma once
#include "algorithms/llm/policy_loss.h"
#include "algorithms/ops/advantages.h"
#include "dataflow/base/clock.h"
#include "dataflow/types/rollout.h"
#include "trainer/lm/lm_learner.h"
#include "workers/batch_learner.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// How a batch of groups becomes updates.
struct GroupLearnerConfig {
  AdvantageRule advantage = AdvantageRule::Grpo;
  double advantage_epsilon = 1e-6;
  bool mask_truncated = false;  ///< completions cut off by the token limit are not trained on
  int64_t epochs = 1;           ///< over a batch
  int64_t minibatches = 1;      ///< updates per epoch; divides the groups of a batch
  PolicyLossConfig loss = {};
  LmLearnerConfig learner = {};

  void bind(ConfigBinder& b);
  void check(int64_t groups, std::vector<std::string>& problems) const;
};

/// Trains a language model on groups by a policy loss on group-relative advantages. An update is
/// one optimizer step over all tokens of its groups, divided once.
class GroupLearner final : public BatchLearner<Group> {
 public:
  /// `reference`: frozen weights for the KL term; null when the loss has none.
  GroupLearner(const GroupLearnerConfig& config, std::unique_ptr<LmLearner> learner,
               std::unique_ptr<LmLearner> reference, const Clock& clock);

  Status begin(std::span<const std::shared_ptr<const Group>> items) override;
  Result<bool> step() override;
  [[nodiscard]] Stats stats() const override { return stats_; }
  [[nodiscard]] Weights weights() const override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

  [[nodiscard]] const LmLearner& learner() const noexcept { return *learner_; }

 private:
  /// A group as it is trained on: those of its rollouts that count.
  struct Part {
    TrainSequence tokens;
    std::vector<double> advantage;  ///< of each response
    at::Tensor behaviour;           ///< [tokens]
    at::Tensor old;                 ///< [tokens] or undefined
    at::Tensor reference;           ///< [tokens] or undefined
    bool moves = false;             ///< whether it has any gradient
  };

  void describe(std::span<const std::shared_ptr<const Group>> items);
  [[nodiscard]] TokenBatch batch_of(const MicroOutputs& outputs, std::span<const Part> parts,
                                    std::span<const size_t> groups) const;
  Status update(std::span<const Part> parts);
  void finish();

  GroupLearnerConfig config_;
  std::unique_ptr<LmLearner> learner_;
  std::unique_ptr<LmLearner> reference_;
  const Clock& clock_;
  std::vector<Part> parts_;
  int64_t next_ = 0;  ///< update of this batch
  TimeNs began_ = 0;
  Stats described_;
  PolicyStats policy_;
  LmStepStats last_;
  double loss_ = 0;
  double grad_norm_ = 0;
  int64_t updates_ = 0;  ///< of this batch that were taken
  int64_t rows_ = 0;
  Stats stats_;
};

}  // namespace sluice
