#include "envs/text/generated_task.h"

#include "envs/text/number.h"

namespace sluice {
namespace {

constexpr int64_t kEvalProblems = 200;
constexpr int kMaxTries = 10000;

}  // namespace

GeneratedTask::GeneratedTask(std::string name, const TextTaskOptions& options)
    : name_(std::move(name)),
      key_(RandomKey(options.seed).split(name_).split(static_cast<uint64_t>(options.difficulty))),
      difficulty_(options.difficulty) {}

int64_t GeneratedTask::size(Split split) const noexcept {
  return split == Split::Eval ? kEvalProblems : -1;
}

Result<TextProblem> GeneratedTask::problem(Split split, int64_t index) const {
  RETURN_IF_ERROR(check_index(*this, split, index));
  const RandomKey stream = key_.split(sluice::name(split)).split(static_cast<uint64_t>(index));
  for (int tries = 0; tries < kMaxTries; ++tries) {
    Draws draws(stream.split(static_cast<uint64_t>(tries)));
    TextProblem out = draw(draws);
    const bool held_out =
        key_.split("held out").split(out.messages.back().content).word(0) % 8 == 0;
    if (held_out != (split == Split::Eval)) continue;
    out.id = index;
    return out;
  }
  return error(Code::Internal, "task '{}' drew no {} problem in {} tries", name_,
               sluice::name(split), kMaxTries);
}

TextScore GeneratedTask::score(const TextProblem& problem, std::string_view response) const {
  return right_or_wrong(canonical_decimal(last_number(response)) == problem.answer);
}

TextProblem asked(std::string question, std::string answer) {
  TextProblem out;
  out.messages.push_back({"user", std::move(question)});
  out.answer = std::move(answer);
  return out;
}

Status check_difficulty(const TextTaskOptions& options, int64_t levels) {
  if (options.difficulty >= 1 && options.difficulty <= levels) return {};
  return invalid_argument("difficulty is {}; there are levels 1 to {}", options.difficulty, levels);
}

}  // namespace sluice
