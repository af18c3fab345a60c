#include "envs/text/arithmetic.h"

#include "envs/text/number.h"
#include "envs/text/permute.h"

#include <algorithm>

namespace sluice {

Result<std::unique_ptr<TextTask>> ArithmeticTask::make(const TextTaskOptions& options) {
  if (options.difficulty < 1 || options.difficulty > 9) {
    return invalid_argument("difficulty is {}; it counts the digits of a number: 1 to 9",
                            options.difficulty);
  }
  return std::unique_ptr<TextTask>(
      std::make_unique<ArithmeticTask>(options.seed, options.difficulty));
}

ArithmeticTask::ArithmeticTask(uint64_t seed, int64_t difficulty)
    : key_(RandomKey(seed).split("arithmetic").split(static_cast<uint64_t>(difficulty))) {
  for (int64_t digits = 2; digits <= difficulty; ++digits) {
    lowest_ = std::max<int64_t>(1, lowest_) * 10;
    operands_ = 9 * lowest_;
  }
  held_out_ = std::min<int64_t>(500, operands_ * operands_ / 5);
}

int64_t ArithmeticTask::size(Split split) const noexcept {
  return split == Split::Eval ? held_out_ : operands_ * operands_ - held_out_;
}

Result<TextProblem> ArithmeticTask::problem(Split split, int64_t index) const {
  RETURN_IF_ERROR(check_index(*this, split, index));
  // One permutation of all pairs; those it puts first are held out.
  const int64_t place = split == Split::Eval ? index : held_out_ + index;
  const int64_t pair = permuted(key_, operands_ * operands_, place);
  const int64_t a = lowest_ + pair / operands_;
  const int64_t b = lowest_ + pair % operands_;
  TextProblem out;
  out.id = index;
  out.messages = {{"user", fmt::format("What is {}+{}?", a, b)}};
  out.answer = fmt::format("{}", a + b);
  return out;
}

TextScore ArithmeticTask::score(const TextProblem& problem, std::string_view response) const {
  return right_or_wrong(canonical_decimal(last_number(response)) == problem.answer);
}

}  // namespace sluice
