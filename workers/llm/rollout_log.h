#pragma once
#include "dataflow/base/result.h"
#include "dataflow/types/rollout.h"
#include "models/tokenizer/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice {

/// One line of JSON for a group: {"step", "number", "problem", "prompt", "completions": [{"text",
/// "reward", "failed", "truncated", "parts": {..}, "tokens": [[text, logprob], ..], "versions":
/// [[first token, step], ..]}, ..]}. `step` is the version that it trains.
[[nodiscard]] std::string rollout_line(const Group& group, int64_t step,
                                       const Tokenizer& tokenizer);

/// Keeps samples of what a run trained on in a file of its directory, a line at a time. A line that
/// cannot be written is lost, and that is said once: the run goes on.
class RolloutLog {
 public:
  static constexpr const char* kFile = "rollouts.jsonl";

  /// Without a directory nothing is kept.
  RolloutLog(const std::string& directory, std::shared_ptr<const Tokenizer> tokenizer);

  void add(const Group& group, int64_t step);

 private:
  std::string path_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool lost_ = false;
};

}  // namespace sluice
