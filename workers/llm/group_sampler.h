#pragma once
#include "dataflow/base/metrics.h"
#include "dataflow/base/worker.h"
#include "dataflow/graph/ports.h"
#include "dataflow/graph/worker_context.h"
#include "dataflow/types/rollout.h"
#include "workers/llm/sampling_config.h"
#include "workers/llm_engine.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Makes groups: for every prompt, `group` completions with their scores.
///
///   g.add("sampler", GroupSampler{.group = 8}).reads(prompts).asks(generate).asks(judge)
///       .writes(groups);
///
/// Prompts are taken only as far as the stream of groups admits them.
struct GroupSampler {
  static constexpr std::string_view kRole = "rollout";
  using Reads = Ports<Stream<Prompt>>;
  using Asks = Ports<Service<GenRequest, Completion>, Service<JudgeRequest, Scores>>;
  using Writes = Ports<Stream<Group>>;

  int64_t group = 8;       ///< completions of a prompt
  int64_t in_flight = 64;  ///< groups under way at once, at most
  int64_t retries = 3;     ///< of a question whose server was lost or late
  SamplingConfig sampling = {};

  void bind(ConfigBinder& b);
  void check(std::vector<std::string>& problems) const;
  Result<std::unique_ptr<Worker>> make(WorkerContext& context) const;
};

/// Draws of group k depend on the run's seed, k and the weights only. What could not be generated
/// or judged is a failed score, not a reward of 0; a server that stays away ends the worker.
///
/// A resumed run passes over the prompts whose groups were handed out before, and makes those anew
/// that were under way.
class GroupSamplerWorker final : public Worker {
 public:
  GroupSamplerWorker(const GroupSampler& spec, WorkerContext& context, StreamReader<Prompt> prompts,
                     ServiceClient<GenRequest, Completion> generate,
                     ServiceClient<JudgeRequest, Scores> judge, StreamWriter<Group> groups);
  /// Groups in hand are counted as lost.
  ~GroupSamplerWorker() override;

  Result<StepResult> step() override;
  Status save(Snapshot& out) const override;
  Status load(const Snapshot& in) override;

 private:
  using GenCall = Exchange<GenRequest, Completion>;
  using JudgeCall = Exchange<JudgeRequest, Scores>;
  /// A group under way.
  struct Work {
    std::shared_ptr<Group> group;
    int64_t attempts = 0;  ///< of the question that is out
  };

  Result<bool> collect_completions();
  Result<bool> collect_scores();
  /// Whether the question should be put again; an error when it has been put often enough.
  Result<bool> again(Work& work, const Status& status, std::string_view whom);
  void take_samples(Group& group, Completion&& done) const;
  bool hand_out();
  Result<bool> take_prompts();
  bool ask();
  [[nodiscard]] std::unique_ptr<GenCall> generation_of(const Group& group) const;
  static std::unique_ptr<JudgeCall> judgement_of(const Group& group);
  [[nodiscard]] bool is_done(int64_t number) const;
  void mark_done(int64_t number);

  GroupSampler spec_;
  RandomKey key_;
  StreamReader<Prompt> prompts_;
  ServiceClient<GenRequest, Completion> generate_;
  ServiceClient<JudgeRequest, Scores> judge_;
  StreamWriter<Group> groups_;
  int64_t permits_ = 0;  ///< granted by the stream of groups, and not used up
  std::deque<Work> to_generate_;
  std::deque<Work> to_judge_;
  std::map<int64_t, Work> generating_;  ///< by number of the question
  std::map<int64_t, Work> judging_;
  int64_t next_generation_ = 0;
  int64_t next_judgement_ = 0;
  std::deque<std::shared_ptr<const Group>> finished_;
  int64_t done_below_ = 0;     ///< groups of lower number were handed out
  std::vector<int64_t> done_;  ///< and these; sorted
  bool over_ = false;

  Counter& groups_total_;
  Counter& rollouts_total_;
  Counter& tokens_total_;
  Counter& failed_total_;
  Counter& asked_again_;
  Counter& lost_;
};

}  // namespace sluice
