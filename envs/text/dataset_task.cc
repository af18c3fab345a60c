#include "envs/text/dataset_task.h"

#include "envs/text/permute.h"

namespace sluice {

Result<std::unique_ptr<TextTask>> DatasetTask::make(const TextTaskOptions& options) {
  std::vector<RewardTerm> rewards;
  for (const std::string& text : options.rewards) {
    ASSIGN_OR_RETURN(RewardTerm term, parse_reward(text));
    rewards.push_back(std::move(term));
  }
  if (rewards.empty()) rewards.push_back({"math", 1, math_match(AnswerForm::Any)});
  ASSIGN_OR_RETURN(Dataset data, read_dataset(options.dataset));
  const auto rows = static_cast<int64_t>(data.problems.size());
  if (options.eval_rows < 0 || options.eval_rows >= rows) {
    return invalid_argument("{} of {} rows are to be held out; there must be some of both",
                            options.eval_rows, rows);
  }
  return std::unique_ptr<TextTask>(
      new DatasetTask(options.seed, std::move(data), options.eval_rows, std::move(rewards)));
}

DatasetTask::DatasetTask(uint64_t seed, Dataset data, int64_t eval_rows,
                         std::vector<RewardTerm> rewards)
    : data_(std::move(data)),
      key_(RandomKey(seed).split("dataset")),
      eval_rows_(eval_rows),
      rewards_(std::move(rewards)) {}

int64_t DatasetTask::size(Split split) const noexcept {
  const auto rows = static_cast<int64_t>(data_.problems.size());
  return split == Split::Eval ? eval_rows_ : rows - eval_rows_;
}

Result<TextProblem> DatasetTask::problem(Split split, int64_t index) const {
  RETURN_IF_ERROR(check_index(*this, split, index));
  // Without held out rows the order is the file's.
  int64_t row = split == Split::Eval ? index : eval_rows_ + index;
  if (eval_rows_ > 0) row = permuted(key_, static_cast<int64_t>(data_.problems.size()), row);
  TextProblem out = data_.problems[static_cast<size_t>(row)];
  out.id = index;
  return out;
}

TextScore DatasetTask::score(const TextProblem& problem, std::string_view response) const {
  return score_terms(rewards_, problem, response);
}

}  // namespace sluice
