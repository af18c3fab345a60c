#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/weights.h"
#include "inference/engine/engine.h"
#include "inference/kernels/linear_kernels.h"
#include "workers/weight_preparer.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Batch limits of a service of generation count prompt tokens.
template <>
struct PayloadTraits<GenRequest> {
  static constexpr std::string_view kName = "GenRequest";
  static int64_t weight(const GenRequest& request) {
    return static_cast<int64_t>(request.prompt.size() + request.generated.size());
  }
};
template <>
struct PayloadTraits<Completion> {
  static constexpr std::string_view kName = "Completion";
  static int64_t weight(const Completion& /*completion*/) { return 1; }
};

/// Generates with a language model: answers prompts with continuations, from the newest weights it
/// follows. What the channel says (`swap`) becomes of continuations under way when new ones come.
///
///   auto generate = g.service<GenRequest, Completion>("generate").batch(up_to(65536));
///   auto weights = g.latest<Weights>("weights").swap(Swap::Resume);
///   g.add("engine", LlmEngine{.model = "smollm2"}).serves(generate).follows(weights);
///
/// Weights are published under the names of the model's checkpoint.
struct LlmEngine {
  static constexpr std::string_view kRole = "inference";
  using Serves = Ports<Service<GenRequest, Completion>>;
  using Follows = Ports<Optional<Latest<Weights>>>;

  std::string model = "";      ///< folder, .gguf file, or name of a fetched model
  int64_t kv_mib = 1024;       ///< memory for keys and values
  int64_t max_length = 0;      ///< tokens of a sequence; 0: the model's positions
  int64_t token_budget = 512;  ///< tokens computed in one step
  int64_t block_size = 32;
  std::string speculate = "";  ///< how tokens are guessed ahead (make_drafter); empty: not at all
  std::string kv = "";  ///< how keys and values are stored: fp32, bf16, int8; empty: as the weights
  WeightFormat weights = WeightFormat::Fp32;  ///< how they are packed; Fp32 is exact

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  [[nodiscard]] int64_t memory_bytes() const { return kv_mib << 20; }
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// One step of the engine for each of its own. Every completion says which version each of its
/// tokens came from. Without a channel of weights the checkpoint's serve, as step 0; with one,
/// questions wait for the first version. A newer one is verified and prepared on another thread
/// while answers go on, and serves between two steps. One that does not match its digest, or not
/// the model, is passed over with a warning. A question that nobody waits for any more is aborted,
/// and its blocks are free at once.
class LlmEngineWorker final : public Worker {
 public:
  /// `weights` may be empty. `preparer` is also where the engine's retired weights go.
  LlmEngineWorker(std::unique_ptr<Engine> engine, std::shared_ptr<WeightPreparer> preparer,
                  SwapMode swap, WorkerContext& context,
                  ServiceServer<GenRequest, Completion> server, LatestFollower<Weights> weights);
  ~LlmEngineWorker() override;

  Result<StepResult> step() override;

  [[nodiscard]] const Engine& engine() const noexcept { return *engine_; }

 private:
  using Call = Exchange<GenRequest, Completion>;

  /// Begins to prepare the newest weights; installs those that are ready.
  void follow();
  void install(Result<PreparedWeights> ready);
  void take();
  void start(std::unique_ptr<Call> call);
  void abort_unwanted();
  void finish(RequestId id, Completion done);

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<WeightPreparer> preparer_;
  SwapMode swap_;
  ServiceServer<GenRequest, Completion> server_;
  LatestFollower<Weights> weights_;
  VersionTag seen_;  ///< newest version looked at: installed, being prepared, or refused
  std::unordered_map<RequestId, std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<Call>> batch_;
  Counter& answered_;
  Counter& unwanted_;
  Counter& tokens_;
  Counter& swaps_;
  Counter& refused_;
  Gauge& version_;
  Gauge& free_blocks_;
};

}  // namespace sluice
