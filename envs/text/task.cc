#include "envs/text/task.h"

#include <cmath>

namespace sluice {

std::string_view name(Split split) noexcept { return split == Split::Train ? "train" : "eval"; }

Status check_index(const TextTask& task, Split split, int64_t index) {
  const int64_t size = task.size(split);
  if (index >= 0 && (size < 0 || index < size)) return {};
  if (size < 0) {
    return error(Code::OutOfRange, "task '{}' has no {} problem {}", task.name(), name(split),
                 index);
  }
  return error(Code::OutOfRange, "task '{}' has {} {} problems; there is none with index {}",
               task.name(), size, name(split), index);
}

TextScore weighted_sum(std::vector<RewardPart> parts) {
  TextScore score;
  for (const RewardPart& part : parts) {
    score.reward += part.value * part.weight;
    if (!std::isfinite(score.reward)) {
      TextScore failure = failed_score(
          fmt::format("reward part '{}' is {} with weight {}", part.name, part.value, part.weight));
      failure.parts = std::move(parts);
      return failure;
    }
  }
  score.parts = std::move(parts);
  return score;
}

TextScore right_or_wrong(bool right) { return weighted_sum({{"correct", right ? 1.0 : 0.0, 1.0}}); }

TextScore failed_score(std::string why) {
  TextScore score;
  score.failed = true;
  score.why = std::move(why);
  return score;
}

}  // namespace sluice
