#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/score.h"
#include "workers/llm/task_config.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Scores answers by the rules of a task.
///
///   g.add("judge", Judge{.task = task}).serves(judge);
struct Judge {
  static constexpr std::string_view kRole = "reward";
  using Serves = Ports<Service<JudgeRequest, Scores>>;

  TaskConfig task = {};

  void bind(ConfigBinder& b) { b.section("task", task); }
  void check(std::vector<std::string>& problems) const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// A reward function that throws, or gives NaN or Inf, fails that one answer. One that hangs is
/// named by the watchdog; who asked gives up at the service's deadline.
class JudgeWorker final : public Worker {
 public:
  JudgeWorker(std::unique_ptr<TextTask> task, WorkerContext& context,
              ServiceServer<JudgeRequest, Scores> server);

  Result<StepResult> step() override;

 private:
  Score score(const TextProblem& problem, const std::string& answer, int64_t index);
  Scores judge(const JudgeRequest& request);

  std::unique_ptr<TextTask> task_;
  ServiceServer<JudgeRequest, Scores> server_;
  std::shared_ptr<Whereabouts> where_;
  std::vector<std::unique_ptr<Exchange<JudgeRequest, Scores>>> batch_;
  Counter& judged_;
  Counter& failed_;
};

}  // namespace sluice
