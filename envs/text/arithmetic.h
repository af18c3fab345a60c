#pragma once
#include "dataflow/base/random.h"
#include "envs/text/options.h"
#include "envs/text/task.h"

#include <memory>

namespace sluice {

/// Addition in chat form: "What is 3+5?". The last number of the response counts; the reward is 1
/// or 0. Difficulty d adds numbers of d digits (1: 0..9, 2: 10..99, .. 9). A fifth of the pairs, at
/// most 500, is drawn by the seed and held out as the eval split; 3+5 and 5+3 are two pairs.
///
/// To make your own task: copy arithmetic.{h,cc}, rename, and add one line to registry.cc.
class ArithmeticTask final : public TextTask {
 public:
  static Result<std::unique_ptr<TextTask>> make(const TextTaskOptions& options);
  /// 1 <= difficulty <= 9.
  ArithmeticTask(uint64_t seed, int64_t difficulty);

  [[nodiscard]] std::string_view name() const noexcept override { return "arithmetic"; }
  [[nodiscard]] int64_t size(Split split) const noexcept override;
  [[nodiscard]] Result<TextProblem> problem(Split split, int64_t index) const override;
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override;

 private:
  RandomKey key_;
  int64_t lowest_ = 0;     // smallest operand
  int64_t operands_ = 10;  // how many there are
  int64_t held_out_ = 0;
};

}  // namespace sluice
