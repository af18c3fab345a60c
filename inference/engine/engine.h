#pragma once
#include "inference/engine/generation.h"
#include "inference/engine/paged_kv_cache.h"
#include "inference/engine/step_executor.h"
#include "inference/sampler/constraint/mask_pool.h"
#include "inference/speculation/drafter.h"
#include "models/transformer/model.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Makes the LinearOp that multiplies by a model's weights; called for the first weights and again
/// for every swap, before the new ones serve.
using LinearFactory = std::function<Result<std::shared_ptr<const LinearOp>>(const Transformer&)>;

/// Weights that are ready to serve in an engine; made by Engine::prepare_weights. Freeing them
/// takes the longer the larger the model is.
class PreparedWeights {
 private:
  friend class Engine;
  explicit PreparedWeights(std::unique_ptr<Transformer> model) : model_(std::move(model)) {}
  std::unique_ptr<Transformer> model_;
};

struct EngineOptions {
  int64_t kv_bytes = int64_t{1} << 30;  ///< memory for keys and values
  int32_t blocks = 0;                   ///< instead of kv_bytes
  int32_t block_size = 32;
  std::optional<KvFormat> kv_format;  ///< how keys and values are stored; empty: as the weights
  SchedulerOptions scheduler;         ///< its max_length is the engine's
  int64_t max_length = 0;             ///< tokens of a sequence; 0: the model's context
  int64_t vocabulary = 0;             ///< ids that may be drawn and given; 0: all rows of the head
  std::vector<int64_t> end_tokens;    ///< that end a text; empty: the config's
  uint64_t seed = 0;                  ///< of requests without one
  std::shared_ptr<const Tokenizer> tokenizer;    ///< null: no text and no stop strings
  LinearFactory linear;                          ///< null: PlainLinearOp
  std::shared_ptr<const AttentionOp> attention;  ///< over a PagedKvCache; null: PagedAttentionOp
  /// Where it computes; its attention is used instead of the above. Null: the CPU. One engine's
  /// own.
  std::shared_ptr<StepExecutor> executor;
  /// Takes the weights that no longer serve after a swap, for another thread to free; null: the
  /// swap frees them.
  std::function<void(PreparedWeights)> retire;
  /// Guesses the next tokens, so that a step may draw several of a sequence; null: none. This
  /// engine's alone. How many are checked is decided from how well they fare and what a row costs.
  std::shared_ptr<Drafter> drafter;
  int64_t max_drafts = 12;   ///< guesses about one sequence in a step, at most
  bool adapt_drafts = true;  ///< false: max_drafts always, as far as the budget goes
};

/// What becomes of sequences under way when the weights change.
enum class SwapMode : uint8_t {
  Drain,     ///< they end first; nothing new starts meanwhile
  Resume,    ///< they keep their tokens; keys and values are computed anew
  InFlight,  ///< they keep tokens, keys and values
};

struct EngineStats {
  SchedulerStats scheduler;
  int64_t steps = 0;
  int64_t failed_steps = 0;
  int64_t computed_tokens = 0;   ///< through the model
  int64_t generated_tokens = 0;  ///< drawn
  int64_t drafts = 0;            ///< times that a sequence was guessed about
  int64_t drafted_tokens = 0;    ///< guesses that were checked
  int64_t accepted_tokens = 0;   ///< of them, those behind which the next token was drawn at once
  int64_t finished = 0;          ///< requests
  int64_t swaps = 0;
  int32_t free_blocks = 0;
  int32_t blocks = 0;
};

/// Generates with a language model: many requests at once, a step at a time. A step is planned and
/// its blocks reserved (Scheduler), computed, then committed, or rolled back when computing failed.
/// Results depend on the request, its seed and the weights only (up to rounding: see LinearOp and
/// AttentionOp). Knows no threads, actors or channels: one thread calls it.
///
///   ASSIGN_OR_RETURN(auto engine, Engine::create(model, options, version, clock));
///   GenListener listener;
///   listener.on_done = [&](Completion done) { .. };
///   ASSIGN_OR_RETURN(RequestId id, engine->submit(request, listener));
///   while (engine->busy()) RETURN_IF_ERROR(engine->step());
class Engine {
 public:
  /// Shares the model's weights, which must not be written to from now on. `clock` must outlive it.
  static Result<std::unique_ptr<Engine>> create(const Transformer& model, EngineOptions options,
                                                VersionTag version, const Clock& clock);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// InvalidArgument or ResourceExhausted when the request can never be served, Unavailable when
  /// too many wait. Nothing is computed yet.
  Result<RequestId> submit(GenRequest request, GenListener listener);
  /// What submit() would say of these parameters whatever the prompt.
  [[nodiscard]] Status check_sampling(const SamplingParams& sampling) const;
  /// Ends a request with what it has; its blocks are free at once. NotFound when it is not there
  /// (any more).
  Status abort(RequestId id);
  void abort_all();
  /// Ends one sample after its newest token, as a stop text found by the caller does: from
  /// on_token, after the token that was told.
  Status finish(RequestId id, uint32_t sample, FinishReason reason);

  /// One step, and telling the listeners. An error means that nothing was computed and all
  /// sequences are as they were.
  Status step();
  /// Whether there is anything to do.
  [[nodiscard]] bool busy() const noexcept { return !requests_.empty() || next_ != nullptr; }

  /// Checks that `weights` are those of the engine's model (every name, shape and type) and makes
  /// what multiplies by them. Shares the tensors, which must not be written to from now on. Any
  /// thread, beside a step: a trainer's weights are packed while the engine decodes.
  Result<PreparedWeights> prepare_weights(Parameters weights) const;
  /// The same from a checkpoint of the model's family; every tensor must be there.
  Result<PreparedWeights> prepare_weights(const TensorReader& reader) const;
  /// Makes the weights serve as `version`; takes no longer than bookkeeping. Drain: they serve once
  /// all sequences under way have ended, in a later step(); a newer swap before that replaces them.
  /// AlreadyExists when that version serves.
  Status swap_weights(PreparedWeights weights, const VersionTag& version, SwapMode mode);
  /// Both at once. On an error the old weights serve on, bit for bit.
  Status swap_weights(Parameters weights, const VersionTag& version, SwapMode mode);
  Status swap_weights(const TensorReader& reader, const VersionTag& version, SwapMode mode);
  [[nodiscard]] bool swap_pending() const noexcept { return next_ != nullptr; }
  [[nodiscard]] const VersionTag& version() const noexcept { return version_; }

  /// Tokens of the longest sequence that can be served: by the options, and by the blocks there
  /// are.
  [[nodiscard]] int64_t longest_sequence() const noexcept;
  [[nodiscard]] const Transformer& model() const noexcept { return *model_; }
  [[nodiscard]] EngineStats stats() const;
  /// Internal when blocks leaked or another invariant is broken.
  [[nodiscard]] Status check() const;

 private:
  struct Request;
  struct Job;
  struct Event;
  struct Next;
  struct StepOutput;
  struct Place {
    Request* request = nullptr;
    size_t sample = 0;
  };

  Engine(EngineOptions options, GenerationLimits limits, TransformerConfig config,
         at::ScalarType dtype, KvFormat kv_format, int32_t blocks, VersionTag version,
         const Clock& clock);
  /// The masks of a request's constraint; null when it has none.
  std::shared_ptr<ConstraintMasks> masks_of(const GenRequest& request, const StopRules& rules);
  /// Returns the model that no longer serves, if its memory is not used again.
  std::unique_ptr<Transformer> serve(std::unique_ptr<Transformer> model);
  void install(std::unique_ptr<Transformer> model, const VersionTag& version, SwapMode mode);
  void install_if_drained();
  void end_expired();

  void propose();
  void ask_drafter(std::span<DraftQuery> queries);
  void learn_cost(const StepPlan& plan, TimeNs spent);
  void tell_drafter(SequenceId sequence, int64_t logits, int64_t drafted, int64_t accepted,
                    const StepOutput& output);
  void forget_drafts(const Request& request, const Generation& sample, bool keep);
  [[nodiscard]] std::vector<Job> jobs_of(const StepPlan& plan);
  Status execute(const StepPlan& plan, std::vector<Job>& jobs, StepOutput& output);
  [[nodiscard]] StepOutput forward(const StepPlan& plan, const std::vector<Job>& jobs);
  void draw(const StepOutput& output, std::vector<Job>& jobs);
  [[nodiscard]] Result<SampledToken> draw_one(TokenSampler& sampler, const Request& request,
                                              const Generation& sample,
                                              std::span<const float> scores,
                                              const TokenMask* allowed) const;
  void settle(const StepPlan& plan, std::vector<Job>& jobs, const StepOutput& output);
  void settle_row(const StepRow& row, std::span<Job> jobs, const StepOutput& output);
  /// Takes what the job drew, and draws on behind guesses that were right.
  void take_run(Request& request, const StepRow& row, Job& job, const StepOutput& output);
  /// Whether the sample goes on; its sequence does not know the token yet.
  bool take(Request& request, size_t sample, Result<SampledToken> drawn);
  void fork_samples(Request& request);
  void end_sample(Request& request, size_t sample, FinishReason reason, bool keep = true);
  void end_all(Request& request, FinishReason reason, const Status& error);
  /// Removes the request and hands its completion to the listener, now or after the step.
  void close(Request& request);
  void tell();

  const EngineOptions options_;
  const GenerationLimits limits_;
  const TransformerConfig config_;
  const at::ScalarType dtype_;
  std::unique_ptr<Transformer> model_;
  std::unique_ptr<PagedKvCache> cache_;
  Scheduler scheduler_;
  VersionTag version_;
  const Clock& clock_;
  std::unique_ptr<Next> next_;
  std::unordered_map<RequestId, std::shared_ptr<Request>> requests_;
  std::unordered_map<SequenceId, Place> places_;
  std::vector<Event> events_;
  const Event* telling_ = nullptr;
  std::vector<TokenSampler> samplers_;
  std::unique_ptr<MaskPool> masks_;  ///< made for the first constraint
  StepCost step_cost_;
  RequestId next_id_ = 1;
  EngineStats stats_;
};

/// InvalidArgument naming the first tensor that is missing, too many, or of another shape or type
/// than a model of these specs has.
Status check_tensors(const std::vector<ParameterSpec>& specs, at::ScalarType dtype,
                     const Parameters& weights);

}  // namespace sluice
