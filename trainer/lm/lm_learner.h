#pragma once
#include "models/transformer/lora/lora.h"
#include "models/transformer/model.h"
#include "trainer/lm/flat_parameters.h"
#include "trainer/lm/group_batch.h"
#include "trainer/lm/lm_learner_config.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// What the model says of the response tokens of a micro-batch: flat [R] in the order (group,
/// response, token). What a loss does not use costs nothing.
struct MicroOutputs {
  at::Tensor logprob;  ///< of each token under the sampling distribution, differentiable
  at::Tensor entropy;  ///< of that distribution in nats, differentiable; undefined unless asked for
  at::Tensor value;    ///< what follows is worth, before the token is known, differentiable;
                       ///< undefined without a value head
  at::Tensor sequence;  ///< int64: number of the token's response within the micro-batch, 0..
};

/// The loss of the groups numbered in `groups` (as they were given to step()): a sum that is
/// already divided by the denominator of the whole step, so that micro-batches add.
using MicroLoss = std::function<at::Tensor(const MicroOutputs&, std::span<const size_t> groups)>;

/// Where the seconds of a step went.
struct LmStepTimes {
  double forward = 0;  ///< packing, the model, log-probs
  double loss = 0;     ///< the caller's
  double backward = 0;
  double update = 0;  ///< gradients zeroed, their norm, AdamW
};

/// What a step did. Sums and counts are over all its micro-batches.
struct LmStepStats {
  double loss = 0;
  double grad_norm = 0;       ///< before clipping; not finite when that is why it was skipped
  double learning_rate = 0;   ///< that the step was taken with
  bool skipped = false;       ///< loss or gradient was not finite: nothing changed
  int64_t step = 0;           ///< steps taken so far, this one included
  int64_t skipped_steps = 0;  ///< skipped so far
  int64_t micro_batches = 0;
  int64_t rows = 0;             ///< token rows that went through the model
  int64_t response_tokens = 0;  ///< scored
  LmStepTimes seconds;
};

/// Trains a language model in one process: fp32 masters in one flat buffer, AdamW with clipping of
/// the global norm, gradients summed over micro-batches of at most `token_budget` rows. The loss is
/// the caller's. One caller at a time; the model may be read by others between steps.
///
///   ASSIGN_OR_RETURN(auto learner, LmLearner::create(std::move(model), config));
///   ASSIGN_OR_RETURN(auto old, learner->logprobs(groups));
///   ASSIGN_OR_RETURN(LmStepStats stats, learner->step(groups, loss));
class LmLearner {
 public:
  /// Trains all parameters of a model with a language head, or of a critic with a value head (then
  /// only MicroOutputs::value is there); they are moved into the learner's buffer (in fp32), so
  /// every copy of the model's Parameters follows. InvalidArgument when the config does not hold
  /// together, FailedPrecondition when the model cannot be trained. A model with a way of its own
  /// to multiply keeps it; PlainLinearOp is replaced by AccumulatingLinearOp.
  static Result<std::unique_ptr<LmLearner>> create(Transformer model,
                                                   const LmLearnerConfig& config);
  /// Trains the adapters of a model instead, which stays as it is.
  static Result<std::unique_ptr<LmLearner>> create(Transformer model, LoraSet lora,
                                                   const LmLearnerConfig& config);
  ~LmLearner();

  /// Log-probs of the response tokens of each group, [tokens of the group] in the order (response,
  /// token), without gradients: what old and reference log-probs are made of. InvalidArgument when
  /// a group cannot be scored or is longer than the token budget (named by its number).
  Result<std::vector<at::Tensor>> logprobs(std::span<const TrainSequence> groups) const;
  /// The values of the same tokens. FailedPrecondition without a value head.
  Result<std::vector<at::Tensor>> values(std::span<const TrainSequence> groups) const;

  /// One step over all groups. Errors leave the weights as they were.
  Result<LmStepStats> step(std::span<const TrainSequence> groups, const MicroLoss& loss,
                           bool entropy = false);

  [[nodiscard]] const Transformer& model() const noexcept;
  [[nodiscard]] const LmLearnerConfig& config() const noexcept;
  /// The trained tensors: they change in place with every step.
  [[nodiscard]] const std::vector<FlatParameters::Entry>& parameters() const noexcept;
  /// Steps taken, skipped ones not counted.
  [[nodiscard]] int64_t steps() const noexcept;

  /// Everything a resumed learner needs, as named tensors (copies): "parameter.NAME",
  /// "adam_m.NAME", "adam_v.NAME" and "counters" (int64 [2]: steps taken, skipped).
  [[nodiscard]] std::vector<Parameters::Entry> state() const;
  /// InvalidArgument names a tensor that is missing, unknown or of another shape; then nothing has
  /// changed.
  Status load_state(const std::vector<Parameters::Entry>& state);

 private:
  struct Impl;
  explicit LmLearner(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<LmLearner>> create_with(Transformer model,
                                                        std::optional<LoraSet> lora,
                                                        const LmLearnerConfig& config);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
