#include "workers/llm/group_sampler.h"

#include "dataflow/base/log.h"

#include <algorithm>

namespace sluice {

void GroupSampler::bind(ConfigBinder& b) {
  b.field("group", group, "completions of a prompt",
          Range::between(1, SamplingParams::kMaxSamples));
  b.field("in_flight", in_flight, "groups under way at once, at most", Range::between(1, 1 << 20));
  b.field("retries", retries, "of a question whose server was lost or late",
          Range::between(0, 1000));
  b.section("sampling", sampling);
}

void GroupSampler::check(std::vector<std::string>& problems) const {
  if (group < 1) problems.emplace_back("a group has no completions");
}

Result<std::unique_ptr<Worker>> GroupSampler::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto prompts, context.reader<Prompt>());
  ASSIGN_OR_RETURN(auto generate, (context.client<GenRequest, Completion>(0)));
  ASSIGN_OR_RETURN(auto judge, (context.client<JudgeRequest, Scores>(1)));
  ASSIGN_OR_RETURN(auto groups, context.writer<Group>());
  return std::unique_ptr<Worker>(
      std::make_unique<GroupSamplerWorker>(*this, context, std::move(prompts), std::move(generate),
                                           std::move(judge), std::move(groups)));
}

GroupSamplerWorker::GroupSamplerWorker(const GroupSampler& spec, WorkerContext& context,
                                       StreamReader<Prompt> prompts,
                                       ServiceClient<GenRequest, Completion> generate,
                                       ServiceClient<JudgeRequest, Scores> judge,
                                       StreamWriter<Group> groups)
    : spec_(spec),
      key_(RandomKey(context.seed()).split("groups")),
      prompts_(std::move(prompts)),
      generate_(std::move(generate)),
      judge_(std::move(judge)),
      groups_(std::move(groups)),
      groups_total_(
          context.metrics().counter("sluice_groups_total", "Groups handed out.", context.labels())),
      rollouts_total_(context.metrics().counter(
          "sluice_rollouts_total", "Completions in groups handed out.", context.labels())),
      tokens_total_(context.metrics().counter("sluice_rollout_tokens_total",
                                              "Tokens of these completions.", context.labels())),
      failed_total_(context.metrics().counter(
          "sluice_rollouts_failed_total",
          "Completions that could not be generated or judged: no reward, not a reward of 0.",
          context.labels())),
      asked_again_(context.metrics().counter(
          "sluice_sampler_reissued_total",
          "Questions put again because their server was lost or late.", context.labels())),
      lost_(context.metrics().counter("sluice_groups_dropped_total",
                                      "Groups begun, but never handed out.",
                                      context.labels({{"reason", "lost"}}))) {}

GroupSamplerWorker::~GroupSamplerWorker() {
  if (over_) return;
  lost_.add(static_cast<int64_t>(to_generate_.size() + generating_.size() + to_judge_.size() +
                                 judging_.size() + finished_.size()));
}

Result<StepResult> GroupSamplerWorker::step() {
  ASSIGN_OR_RETURN(bool progress, collect_completions());
  ASSIGN_OR_RETURN(const bool scored, collect_scores());
  progress |= scored;
  progress |= hand_out();
  ASSIGN_OR_RETURN(const bool taken, take_prompts());
  progress |= taken;
  progress |= ask();
  const bool idle_hands = to_generate_.empty() && generating_.empty() && to_judge_.empty() &&
                          judging_.empty() && finished_.empty();
  const bool no_more = groups_.closed() || (idle_hands && prompts_.ended());
  // A drain gives up what is under way: its prompts come again after a resume.
  if (no_more || draining()) {
    if (permits_ > 0) groups_.give_back(permits_);
    permits_ = 0;
    over_ = true;
    prompts_.close();
    generate_.close();
    judge_.close();
    groups_.close();
    return StepResult::finished();
  }
  if (progress) return StepResult::progress();
  return StepResult::idle(std::min(generate_.next_deadline(), judge_.next_deadline()));
}

Result<bool> GroupSamplerWorker::again(Work& work, const Status& status, std::string_view whom) {
  const Code code = status.code();
  if (code != Code::Unavailable && code != Code::DeadlineExceeded) return false;
  if (++work.attempts > spec_.retries) {
    return Status(
        code, fmt::format("{} did not answer {} times: {}", whom, work.attempts, status.message()));
  }
  asked_again_.add();
  return true;
}

Result<bool> GroupSamplerWorker::collect_completions() {
  bool any = false;
  while (auto call = generate_.try_collect()) {
    any = true;
    auto found = generating_.extract(call->id);
    SLUICE_CHECK(!found.empty()) << "an answer to a question never put";
    Work work = std::move(found.mapped());
    if (call->status.ok()) {
      take_samples(*work.group, std::move(call->response));
      to_judge_.push_back({std::move(work.group), 0});
      continue;
    }
    ASSIGN_OR_RETURN(const bool once_more, again(work, call->status, "the engine"));
    if (!once_more) {
      return call->status.with_context(
          fmt::format("the engine refused prompt {}", work.group->prompt.number));
    }
    to_generate_.push_front(std::move(work));
  }
  return any;
}

void GroupSamplerWorker::take_samples(Group& group, Completion&& done) const {
  group.rollouts.clear();
  group.versions = {};
  for (Sample& sample : done.samples) {
    TokenRollout rollout;
    rollout.tokens = std::move(sample.tokens);
    rollout.logprobs = std::move(sample.logprobs);
    rollout.versions = std::move(sample.versions);
    rollout.text = std::move(sample.text);
    for (const float h : sample.entropies) {
      rollout.entropy += h / static_cast<float>(sample.entropies.size());
    }
    rollout.truncated = sample.reason == FinishReason::Length;
    if (sample.reason != FinishReason::Stop && !rollout.truncated) {
      rollout.score.failed = true;
      rollout.score.why = sample.error.ok() ? "aborted" : sample.error.message();
    }
    for (const VersionRun& run : rollout.versions) group.versions.cover(run.version);
    group.rollouts.push_back(std::move(rollout));
  }
}

Result<bool> GroupSamplerWorker::collect_scores() {
  bool any = false;
  while (auto call = judge_.try_collect()) {
    any = true;
    auto found = judging_.extract(call->id);
    SLUICE_CHECK(!found.empty()) << "a judgement nobody asked for";
    Work work = std::move(found.mapped());
    Group& group = *work.group;
    Status status = call->status;
    if (status.ok() && call->response.scores.size() != group.rollouts.size()) {
      status = error(Code::Internal, "{} scores for {} answers", call->response.scores.size(),
                     group.rollouts.size());
    }
    if (!status.ok()) {
      ASSIGN_OR_RETURN(const bool once_more, again(work, status, "the judge"));
      if (once_more) {
        to_judge_.push_front(std::move(work));
        continue;
      }
      log(LogLevel::Warning, "group {} has no scores: {}", group.prompt.number, status.message());
    }
    for (size_t i = 0; i < group.rollouts.size(); ++i) {
      Score& score = group.rollouts[i].score;
      if (score.failed) continue;  // it was never generated
      if (status.ok()) {
        score = std::move(call->response.scores[i]);
      } else {
        score.failed = true;
        score.why = status.message();
      }
    }
    finished_.push_back(std::move(work.group));
  }
  return any;
}

bool GroupSamplerWorker::hand_out() {
  bool any = false;
  while (!finished_.empty()) {
    std::shared_ptr<const Group> group = finished_.front();
    std::shared_ptr<const Group> out = group;
    const PutResult result = groups_.try_put(out, group->versions);
    if (result == PutResult::Full) break;
    any = true;
    finished_.pop_front();
    mark_done(group->prompt.number);
    if (result != PutResult::Accepted) continue;  // the stream has counted it
    groups_total_.add();
    for (const TokenRollout& rollout : group->rollouts) {
      rollouts_total_.add();
      tokens_total_.add(std::ssize(rollout.tokens));
      if (rollout.score.failed) failed_total_.add();
    }
  }
  return any;
}

Result<bool> GroupSamplerWorker::take_prompts() {
  if (draining() || groups_.closed()) return false;
  const auto under_way =
      static_cast<int64_t>(to_generate_.size() + generating_.size() + to_judge_.size() +
                           judging_.size() + finished_.size());
  const int64_t room = spec_.in_flight - under_way;
  if (room > permits_) permits_ += groups_.admit(room - permits_);
  bool any = false;
  while (permits_ > 0 && !prompts_.ended()) {
    ASSIGN_OR_RETURN(auto items, prompts_.try_take(1));
    if (items.empty()) break;
    any = true;
    const Prompt& prompt = *items.front().value;
    if (is_done(prompt.number)) continue;
    auto group = std::make_shared<Group>();
    group->prompt = prompt;
    to_generate_.push_back({std::move(group), 0});
    --permits_;
  }
  return any;
}

bool GroupSamplerWorker::ask() {
  bool any = false;
  while (!to_judge_.empty()) {
    auto call = judgement_of(*to_judge_.front().group);
    if (!judge_.try_ask(call)) break;
    any = true;
    judging_.emplace(next_judgement_++, std::move(to_judge_.front()));
    to_judge_.pop_front();
  }
  while (!to_generate_.empty()) {
    auto call = generation_of(*to_generate_.front().group);
    if (!generate_.try_ask(call)) break;
    any = true;
    generating_.emplace(next_generation_++, std::move(to_generate_.front()));
    to_generate_.pop_front();
  }
  return any;
}

std::unique_ptr<GroupSamplerWorker::GenCall> GroupSamplerWorker::generation_of(
    const Group& group) const {
  auto call = std::make_unique<GenCall>();
  call->request.prompt = group.prompt.tokens;
  call->request.sampling = spec_.sampling.params();
  call->request.sampling.n = static_cast<int32_t>(spec_.group);
  call->request.sampling.seed = key_.split(static_cast<uint64_t>(group.prompt.number)).word(0);
  call->request.order = group.prompt.number;  // the oldest group first
  return call;
}

std::unique_ptr<GroupSamplerWorker::JudgeCall> GroupSamplerWorker::judgement_of(
    const Group& group) {
  auto call = std::make_unique<JudgeCall>();
  call->request.problem = group.prompt.problem;
  for (const TokenRollout& rollout : group.rollouts) call->request.answers.push_back(rollout.text);
  return call;
}

bool GroupSamplerWorker::is_done(int64_t number) const {
  return number < done_below_ || std::binary_search(done_.begin(), done_.end(), number);
}

void GroupSamplerWorker::mark_done(int64_t number) {
  done_.insert(std::upper_bound(done_.begin(), done_.end(), number), number);
  size_t gone = 0;
  while (gone < done_.size() && done_[gone] == done_below_) {
    ++done_below_;
    ++gone;
  }
  done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(gone));
}

Status GroupSamplerWorker::save(Snapshot& out) const {
  out.put_value("done_below", done_below_);
  out.put_array("done", std::span<const int64_t>(done_));
  return {};
}

Status GroupSamplerWorker::load(const Snapshot& in) {
  RETURN_IF_ERROR(in.get_value("done_below", done_below_));
  ASSIGN_OR_RETURN(const auto bytes, in.get("done"));
  done_.resize(bytes.size() / sizeof(int64_t));
  return in.get_array("done", std::span(done_));
}

}  // namespace sluice
