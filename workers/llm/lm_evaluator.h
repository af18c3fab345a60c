#pragma once
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/score.h"
#include "dataflow/types/weights.h"
#include "workers/llm/prompt_encoder.h"
#include "workers/llm/sampling_config.h"
#include "workers/llm/task_config.h"
#include "workers/llm_engine.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Scores versions of a language model on the held-out problems of a task while it trains.
///
///   g.add("evaluator", LmEvaluator{.task = task, .model = "smollm2"}).follows(weights)
///       .asks(generate).asks(judge);
struct LmEvaluator {
  static constexpr std::string_view kRole = "evaluator";
  using Follows = Ports<Latest<Weights>>;
  using Asks = Ports<Service<GenRequest, Completion>, Service<JudgeRequest, Scores>>;

  TaskConfig task = {};
  std::string model = "";  ///< whose tokenizer and chat template
  int64_t every = 10;      ///< evaluate version 0, every, 2 every, ..: the newest one that is due
  int64_t problems = 64;   ///< of the held-out ones, at most
  int64_t samples = 1;     ///< of each problem: pass@1 is their mean, pass@k has one right in k
  SamplingConfig sampling = {};
  bool has_target = false;  ///< end the run when the mean reward reaches `target`
  double target = 0;

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems_found) const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Asks the engine that also serves the training, ahead of it, with draws that are the same in
/// every evaluation. A score belongs to one version: an evaluation that newer weights cut in two is
/// begun again, twice at most; then it counts for the oldest version that had a part in it. When
/// the run drains, the last version is scored before the engine goes.
class LmEvaluatorWorker final : public Worker {
 public:
  LmEvaluatorWorker(const LmEvaluator& spec, std::vector<std::vector<int64_t>> prompts,
                    WorkerContext& context, LatestFollower<Weights> weights,
                    ServiceClient<GenRequest, Completion> generate,
                    ServiceClient<JudgeRequest, Scores> judge);

  Result<StepResult> step() override;

 private:
  using GenCall = Exchange<GenRequest, Completion>;
  using JudgeCall = Exchange<JudgeRequest, Scores>;
  /// What is known of the evaluation under way.
  struct Tally {
    double reward = 0;
    int64_t answers = 0;
    int64_t failed = 0;
    int64_t solved = 0;  ///< problems with an answer of the full reward
    int64_t judged = 0;  ///< problems
    int64_t tokens = 0;
    int64_t truncated = 0;
    VersionSpan versions;
  };

  void begin();
  bool ask();
  Result<bool> collect();
  void count(const Scores& scores);
  void end();

  LmEvaluator spec_;
  std::vector<std::vector<int64_t>> prompts_;
  RunControl& run_;
  RandomKey key_;
  LatestFollower<Weights> weights_;
  ServiceClient<GenRequest, Completion> generate_;
  ServiceClient<JudgeRequest, Scores> judge_;
  bool running_ = false;
  Tally tally_;
  std::deque<int64_t> to_generate_;
  std::deque<JudgeRequest> to_judge_;
  std::map<int64_t, int64_t> generating_;  ///< number of the question -> problem
  std::map<int64_t, JudgeRequest> judging_;
  int64_t next_generation_ = 0;
  int64_t next_judgement_ = 0;
  int64_t next_due_ = 0;
  int64_t cuts_ = 0;  ///< of this evaluation, by newer weights
  VersionTag last_scored_;
};

}  // namespace sluice
