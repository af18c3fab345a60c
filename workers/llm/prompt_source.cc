#include "workers/llm/prompt_source.h"

#include <algorithm>

namespace sluice {

void PromptSource::bind(ConfigBinder& b) {
  b.section("task", task);
  b.field("model", model, "whose tokenizer and chat template spell the prompts");
  b.field("max_prompt", max_prompt, "tokens of a prompt, at most", Range::between(1, 1 << 24));
  b.field("too_long", too_long, "what becomes of a longer one",
          {{"refuse", TooLong::Refuse}, {"drop", TooLong::Drop}});
  b.field("epochs", epochs, "times that each problem is asked; 0 = without end",
          Range::at_least(0));
  b.field("rewind", rewind, "prompts written again after a resume", Range::at_least(0));
}

void PromptSource::check(std::vector<std::string>& problems) const {
  const auto made = task.make();
  if (!made.ok()) {
    problems.push_back(made.status().message());
    return;
  }
  const auto encoder = PromptEncoder::load(model);
  if (!encoder.ok()) {
    problems.push_back(encoder.status().message());
    return;
  }
  const auto first = (*made)->problem(Split::Train, 0);
  const Status status = first.ok() ? encoder->encode(*first).status() : first.status();
  if (!status.ok()) problems.push_back(status.message());
}

Result<std::unique_ptr<Worker>> PromptSource::make(WorkerContext& context) const {
  ASSIGN_OR_RETURN(auto made, task.make());
  ASSIGN_OR_RETURN(auto encoder, PromptEncoder::load(model));
  ASSIGN_OR_RETURN(auto out, context.writer<Prompt>());
  return std::unique_ptr<Worker>(std::make_unique<PromptSourceWorker>(
      *this, std::move(made), std::move(encoder), context, std::move(out)));
}

PromptSourceWorker::PromptSourceWorker(const PromptSource& spec, std::unique_ptr<TextTask> task,
                                       PromptEncoder encoder, WorkerContext& context,
                                       StreamWriter<Prompt> out)
    : spec_(spec),
      task_(std::move(task)),
      encoder_(std::move(encoder)),
      order_(context.seed(), task_->size(Split::Train)),
      out_(std::move(out)),
      written_(
          context.metrics().counter("sluice_prompts_total", "Prompts written.", context.labels())),
      dropped_(context.metrics().counter("sluice_prompts_dropped_total", "Prompts passed over.",
                                         context.labels({{"reason", "too_long"}}))) {}

Result<StepResult> PromptSourceWorker::step() {
  if (draining()) return finish();
  if (!held_) {
    if (spec_.epochs > 0 && order_.cursor().epoch >= spec_.epochs) return finish();
    const int64_t number = next_++;
    ASSIGN_OR_RETURN(held_, make_prompt(number));
    if (!held_) return StepResult::progress();
  }
  switch (out_.try_put(held_, {})) {
    case PutResult::Full:
      return StepResult::idle();
    case PutResult::Closed:
      return finish();
    case PutResult::Accepted:
      written_.add();
      break;
    case PutResult::Refused:
      break;
  }
  held_ = nullptr;
  return StepResult::progress();
}

Result<std::shared_ptr<const Prompt>> PromptSourceWorker::make_prompt(int64_t number) {
  const int64_t index = order_.next();
  ASSIGN_OR_RETURN(const TextProblem problem, task_->problem(Split::Train, index));
  auto prompt = std::make_shared<Prompt>();
  prompt->number = number;
  prompt->problem = index;
  ASSIGN_OR_RETURN(prompt->tokens, encoder_.encode(problem));
  const auto length = static_cast<int64_t>(prompt->tokens.size());
  if (length > spec_.max_prompt) {
    if (spec_.too_long == TooLong::Refuse) {
      return invalid_argument(
          "problem {} of task '{}' has {} tokens, more than max_prompt = {}; too_long = drop "
          "passes over it",
          index, spec_.task.name, length, spec_.max_prompt);
    }
    dropped_.add();
    return std::shared_ptr<const Prompt>();
  }
  return std::shared_ptr<const Prompt>(std::move(prompt));
}

StepResult PromptSourceWorker::finish() {
  out_.close();
  return StepResult::finished();
}

Status PromptSourceWorker::save(Snapshot& out) const {
  out.put_value("next", next_);
  return {};
}

Status PromptSourceWorker::load(const Snapshot& in) {
  RETURN_IF_ERROR(in.get_value("next", next_));
  next_ = std::max<int64_t>(0, next_ - spec_.rewind);
  const int64_t size = task_->size(Split::Train);
  return order_.seek(size > 0 ? PromptCursor{next_ / size, next_ % size} : PromptCursor{0, next_});
}

}  // namespace sluice
