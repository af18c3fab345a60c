#pragma once
#include "envs/text/draws.h"
#include "envs/text/options.h"
#include "envs/text/task.h"

#include <memory>
#include <string>

namespace sluice {

/// A task whose problems are drawn: the train split never ends, the eval split has 200 problems.
/// What is asked decides the split (one in eight goes to eval), so that no eval question is ever
/// trained on. A subclass draws one problem and may judge responses; by default the last number
/// counts.
class GeneratedTask : public TextTask {
 public:
  GeneratedTask(std::string name, const TextTaskOptions& options);

  [[nodiscard]] std::string_view name() const noexcept final { return name_; }
  [[nodiscard]] int64_t size(Split split) const noexcept final;
  [[nodiscard]] Result<TextProblem> problem(Split split, int64_t index) const final;
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 protected:
  /// Draws the messages, the answer and the fields of one problem.
  [[nodiscard]] virtual TextProblem draw(Draws& draws) const = 0;
  [[nodiscard]] int64_t difficulty() const noexcept { return difficulty_; }

 private:
  std::string name_;
  RandomKey key_;
  int64_t difficulty_;
};

/// A problem of one user turn.
TextProblem asked(std::string question, std::string answer);

/// InvalidArgument unless 1 <= difficulty <= levels.
Status check_difficulty(const TextTaskOptions& options, int64_t levels);

/// The factory of a generated task: T(options), with difficulty up to T::kLevels.
template <class T>
Result<std::unique_ptr<TextTask>> make_generated(const TextTaskOptions& options) {
  RETURN_IF_ERROR(check_difficulty(options, T::kLevels));
  return std::unique_ptr<TextTask>(std::make_unique<T>(options));
}

}  // namespace sluice
