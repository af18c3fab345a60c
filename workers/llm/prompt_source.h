#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/prompt.h"
#include "envs/text/prompt_order.h"
#include "workers/llm/prompt_encoder.h"
#include "workers/llm/task_config.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What becomes of a prompt longer than allowed.
enum class TooLong : uint8_t {
  Refuse,  ///< the run ends with an error that names the problem
  Drop     ///< it is passed over, and counted
};

/// Writes the prompts of a task, epoch after epoch, each in an order of its own.
///
///   g.add("prompts", PromptSource{.task = task, .model = "smollm2"}).writes(prompts);
struct PromptSource {
  static constexpr std::string_view kRole = "rollout";
  using Writes = Ports<Stream<Prompt>>;

  TaskConfig task = {};
  std::string model = "";    ///< whose tokenizer and chat template
  int64_t max_prompt = 512;  ///< tokens
  TooLong too_long = TooLong::Refuse;
  int64_t epochs = 0;     ///< over the problems; 0 = without end
  int64_t rewind = 1024;  ///< prompts written again after a resume: none in flight is lost

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Prompt k is a function of the task, the run's seed and k: what was written before a checkpoint
/// can be written again, and whoever reads tells it by its number.
class PromptSourceWorker final : public Worker {
 public:
  PromptSourceWorker(const PromptSource& spec, std::unique_ptr<TextTask> task,
                     PromptEncoder encoder, WorkerContext& context, StreamWriter<Prompt> out);

  Result<StepResult> step() override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 private:
  /// Null when the problem is dropped.
  Result<std::shared_ptr<const Prompt>> make_prompt(int64_t number);
  StepResult finish();

  PromptSource spec_;
  std::unique_ptr<TextTask> task_;
  PromptEncoder encoder_;
  PromptOrder order_;
  StreamWriter<Prompt> out_;
  int64_t next_ = 0;
  std::shared_ptr<const Prompt> held_;  ///< made, but not accepted yet
  Counter& written_;
  Counter& dropped_;
};

}  // namespace sluice
