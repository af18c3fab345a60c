#include "workers/llm/lm_evaluator.h"

#include "dataflow/base/log.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int64_t kCuts = 2;

}  // namespace

void LmEvaluator::bind(ConfigBinder& b) {
  b.section("task", task);
  b.field("model", model, "whose tokenizer and chat template spell the prompts");
  b.field("every", every, "versions from one evaluation to the next", Range::at_least(1));
  b.field("problems", problems, "held-out problems, at most", Range::between(1, 1 << 20));
  b.field("samples", samples, "answers to each problem",
          Range::between(1, SamplingParams::kMaxSamples));
  b.section("sampling", sampling);
  b.field("has_target", has_target, "end the run when the mean reward reaches the target");
  b.field("target", target, "mean reward that ends the run");
}

void LmEvaluator::check(std::vector<std::string>& problems_found) const {
  const auto made = task.make();
  if (!made.ok()) {
    problems_found.push_back(made.status().message());
  } else if ((*made)->size(Split::Eval) == 0) {
    problems_found.push_back(
        fmt::format("task '{}' holds no problem back: there is nothing to evaluate on", task.name));
  }
}

Result<std::unique_ptr<Worker>> LmEvaluator::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(const auto made, task.make());
  ASSIGN_OR_RETURN(const auto encoder, PromptEncoder::load(model));
  const int64_t size = made->size(Split::Eval);
  const int64_t count = size < 0 ? problems : std::min(problems, size);
  std::vector<std::vector<int64_t>> prompts;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const TextProblem problem, made->problem(Split::Eval, i));
    ASSIGN_OR_RETURN(auto tokens, encoder.encode(problem));
    prompts.push_back(std::move(tokens));
  }
  ASSIGN_OR_RETURN(auto weights, context.follower<Weights>());
  ASSIGN_OR_RETURN(auto generate, (context.client<GenRequest, Completion>(0)));
  ASSIGN_OR_RETURN(auto judge, (context.client<JudgeRequest, Scores>(1)));
  return std::unique_ptr<Worker>(
      std::make_unique<LmEvaluatorWorker>(*this, std::move(prompts), context, std::move(weights),
                                          std::move(generate), std::move(judge)));
}

LmEvaluatorWorker::LmEvaluatorWorker(const LmEvaluator& spec,
                                     std::vector<std::vector<int64_t>> prompts,
                                     WorkerContext& context, LatestFollower<Weights> weights,
                                     ServiceClient<GenRequest, Completion> generate,
                                     ServiceClient<JudgeRequest, Scores> judge)
    : spec_(spec),
      prompts_(std::move(prompts)),
      run_(context.run()),
      key_(RandomKey(context.seed()).split("evaluation")),
      weights_(std::move(weights)),
      generate_(std::move(generate)),
      judge_(std::move(judge)) {}

Result<StepResult> LmEvaluatorWorker::step() {
  if (!running_) {
    const bool newer = weights_.has_newer(last_scored_);
    const VersionTag newest = newer ? weights_.current().tag : VersionTag{};
    // When the run drains, the last version is due.
    if (newest.valid() && (newest.step >= next_due_ || draining())) {
      begin();
    } else if (draining()) {
      generate_.close();
      judge_.close();
      weights_.close();
      return StepResult::finished();
    } else {
      return StepResult::idle();
    }
  }
  bool progress = ask();
  ASSIGN_OR_RETURN(const bool collected, collect());
  progress |= collected;
  if (tally_.judged == std::ssize(prompts_)) {
    end();
    return StepResult::progress();
  }
  if (progress) return StepResult::progress();
  return StepResult::idle(std::min(generate_.next_deadline(), judge_.next_deadline()));
}

void LmEvaluatorWorker::begin() {
  running_ = true;
  tally_ = {};
  for (int64_t i = 0; i < std::ssize(prompts_); ++i) to_generate_.push_back(i);
}

bool LmEvaluatorWorker::ask() {
  bool any = false;
  while (!to_judge_.empty()) {
    auto call = std::make_unique<JudgeCall>();
    call->request = to_judge_.front();
    if (!judge_.try_ask(call)) break;
    any = true;
    judging_.emplace(next_judgement_++, std::move(to_judge_.front()));
    to_judge_.pop_front();
  }
  while (!to_generate_.empty()) {
    const int64_t problem = to_generate_.front();
    auto call = std::make_unique<GenCall>();
    call->request.prompt = prompts_[static_cast<size_t>(problem)];
    call->request.sampling = spec_.sampling.params();
    call->request.sampling.n = static_cast<int32_t>(spec_.samples);
    call->request.sampling.seed = key_.split(static_cast<uint64_t>(problem)).word(0);
    call->request.priority = -1;  // ahead of what is trained on: newer weights come after that
    if (!generate_.try_ask(call)) break;
    any = true;
    generating_.emplace(next_generation_++, problem);
    to_generate_.pop_front();
  }
  return any;
}

Result<bool> LmEvaluatorWorker::collect() {
  bool any = false;
  while (auto call = generate_.try_collect()) {
    any = true;
    const int64_t problem = generating_.extract(call->id).mapped();
    if (!call->status.ok()) {
      if (call->status.code() != Code::Unavailable) {
        return call->status.with_context("the engine refused an evaluation's prompt");
      }
      if (draining()) return error(Code::Unavailable, "the engine ended in an evaluation");
      to_generate_.push_back(problem);
      continue;
    }
    JudgeRequest request;
    request.problem = problem;
    request.held_out = true;
    for (const Sample& sample : call->response.samples) {
      request.answers.push_back(sample.text);
      tally_.tokens += std::ssize(sample.tokens);
      tally_.truncated += sample.reason == FinishReason::Length ? 1 : 0;
      for (const VersionRun& run : sample.versions) tally_.versions.cover(run.version);
    }
    to_judge_.push_back(std::move(request));
  }
  while (auto call = judge_.try_collect()) {
    any = true;
    JudgeRequest request = judging_.extract(call->id).mapped();
    if (call->status.ok()) {
      count(call->response);
    } else if (call->status.code() == Code::Unavailable && !draining()) {
      to_judge_.push_back(std::move(request));
    } else {
      return call->status.with_context("the judge of an evaluation");
    }
  }
  return any;
}

void LmEvaluatorWorker::count(const Scores& scores) {
  ++tally_.judged;
  double best = 0;
  for (const Score& score : scores.scores) {
    if (score.failed) {
      ++tally_.failed;
      continue;
    }
    ++tally_.answers;
    tally_.reward += score.reward;
    best = std::max(best, score.reward);
  }
  if (best >= 1) ++tally_.solved;
}

void LmEvaluatorWorker::end() {
  running_ = false;
  const VersionTag version = tally_.versions.oldest;
  if (tally_.versions.newest != version && ++cuts_ <= kCuts) return;  // next_due_ has not moved
  cuts_ = 0;
  last_scored_ = version;
  next_due_ = (version.step / spec_.every + 1) * spec_.every;
  const auto answers = static_cast<double>(std::max<int64_t>(1, tally_.answers + tally_.failed));
  const double reward = tally_.reward / static_cast<double>(std::max<int64_t>(1, tally_.answers));
  run_.report("eval_reward", reward);
  run_.report("eval_version", static_cast<double>(version.step));
  run_.report("eval_length", static_cast<double>(tally_.tokens) / answers);
  run_.report("eval_truncated", static_cast<double>(tally_.truncated) / answers);
  run_.report("eval_failed", static_cast<double>(tally_.failed) / answers);
  run_.report("eval_solved",
              static_cast<double>(tally_.solved) / static_cast<double>(tally_.judged));
  log(LogLevel::Info, "evaluation of {}: reward {:.3f} over {} answers to {} problems",
      version.to_string(), reward, tally_.answers, tally_.judged);
  if (spec_.has_target && reward >= spec_.target) {
    run_.request_stop(
        fmt::format("evaluation reward {:.3f} reached the target {:.3f}", reward, spec_.target));
  }
}

}  // namespace sluice
