#include "workers/llm/judge.h"

#include "workers/foreign_call.h"

#include <cmath>

namespace sluice {

void Judge::check(std::vector<std::string>& problems) const {
  if (const auto made = task.make(); !made.ok()) problems.push_back(made.status().message());
}

Result<std::unique_ptr<Worker>> Judge::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto made, task.make());
  ASSIGN_OR_RETURN(auto server, (context.server<JudgeRequest, Scores>()));
  return std::unique_ptr<Worker>(
      std::make_unique<JudgeWorker>(std::move(made), context, std::move(server)));
}

JudgeWorker::JudgeWorker(std::unique_ptr<TextTask> task, WorkerContext& context,
                         ServiceServer<JudgeRequest, Scores> server)
    : task_(std::move(task)),
      server_(std::move(server)),
      where_(context.where()),
      judged_(context.metrics().counter("sluice_judge_answers_total", "Answers judged.",
                                        context.labels())),
      failed_(context.metrics().counter("sluice_judge_failures_total",
                                        "Answers whose reward could not be computed.",
                                        context.labels())) {}

Result<StepResult> JudgeWorker::step() {
  if (server_.try_take(batch_)) {
    for (auto& call : batch_) {
      call->response = judge(call->request);
      server_.answer(std::move(call));
    }
    return StepResult::progress();
  }
  if (server_.ended() || (draining() && server_.next_due() == kForever)) {
    server_.close();
    return StepResult::finished();
  }
  return StepResult::idle(server_.next_due());
}

Scores JudgeWorker::judge(const JudgeRequest& request) {
  Scores out;
  const auto problem =
      task_->problem(request.held_out ? Split::Eval : Split::Train, request.problem);
  for (size_t i = 0; i < request.answers.size(); ++i) {
    if (problem.ok()) {
      out.scores.push_back(score(*problem, request.answers[i], static_cast<int64_t>(i)));
    } else {
      out.scores.push_back({0, {}, true, problem.status().message()});
    }
    judged_.add();
    if (out.scores.back().failed) failed_.add();
  }
  return out;
}

Score JudgeWorker::score(const TextProblem& problem, const std::string& answer, int64_t index) {
  TextScore given;
  const Status status = foreign_call(*where_, index, problem.id, [&]() -> Status {
    given = task_->score(problem, answer);
    return {};
  });
  Score out;
  if (!status.ok()) return {0, {}, true, status.message()};
  if (!given.failed && !std::isfinite(given.reward)) {
    return {0, {}, true, fmt::format("the reward is {}", given.reward)};
  }
  out.reward = given.reward;
  for (const RewardPart& part : given.parts) out.parts.emplace_back(part.name, part.value);
  out.failed = given.failed;
  out.why = given.why;
  return out;
}

}  // namespace sluice
