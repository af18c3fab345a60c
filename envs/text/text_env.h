#pragma once
#include "envs/text/options.h"
#include "envs/text/task.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What came of one turn of the model.
struct TextStep {
  std::string observation;  ///< what the environment answers: the next user (or tool) turn
  double reward = 0;
  bool terminated = false;  ///< the task itself ended
  bool truncated = false;   ///< turns or actions ran out
};

/// An environment of several turns: it asks, the model answers, it answers in turn. One copy is
/// used by one thread at a time. Deterministic: the same seed, split, index and responses give the
/// same observations and rewards. envs/text/sokoban.h is one to copy.
class TextEnv {
 public:
  virtual ~TextEnv() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Episodes in a split; -1 when it never ends. No episode is in both splits.
  [[nodiscard]] virtual int64_t size(Split split) const noexcept = 0;

  /// Starts episode `index`: the first messages. OutOfRange as TextTask::problem().
  virtual Result<std::vector<ChatTurn>> reset(Split split, int64_t index) = 0;

  /// Takes the model's turn. What it does not understand is no failure: the observation says so.
  /// FailedPrecondition before the first reset and after the end of an episode.
  virtual Result<TextStep> step(std::string_view response) = 0;
};

/// An environment by its name. NotFound names the nearest known and lists all.
Result<std::unique_ptr<TextEnv>> make_text_env(std::string_view name,
                                               const TextTaskOptions& options = {});
/// All names, sorted.
[[nodiscard]] std::vector<std::string> text_env_names();

}  // namespace sluice
