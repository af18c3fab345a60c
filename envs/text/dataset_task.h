#pragma once
#include "dataflow/base/random.h"
#include "envs/text/options.h"
#include "envs/text/rewards.h"

#include <memory>

namespace sluice {

/// Problems out of a file (envs/text/dataset.h), judged by a weighted sum of rewards. Rows that are
/// held out for the eval split are drawn by the seed, and never trained on.
class DatasetTask final : public TextTask {
 public:
  /// Also refuses to hold out all rows. Fails as read_dataset() and parse_reward() do.
  static Result<std::unique_ptr<TextTask>> make(const TextTaskOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "dataset"; }
  [[nodiscard]] int64_t size(Split split) const noexcept override;
  [[nodiscard]] Result<TextProblem> problem(Split split, int64_t index) const override;
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

  /// Rows read, used and dropped by reason.
  [[nodiscard]] const DatasetReport& report() const noexcept { return data_.report; }

 private:
  DatasetTask(uint64_t seed, Dataset data, int64_t eval_rows, std::vector<RewardTerm> rewards);

  Dataset data_;
  RandomKey key_;
  int64_t eval_rows_;
  std::vector<RewardTerm> rewards_;
};

}  // namespace sluice
