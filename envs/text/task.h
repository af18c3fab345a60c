#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// One message of a conversation, as chat templates take it.
struct ChatTurn {
  std::string role;
  std::string content;
  friend bool operator==(const ChatTurn&, const ChatTurn&) = default;
};

/// What is asked, and what the verifier needs to judge what comes back.
struct TextProblem {
  int64_t id = 0;  ///< its index in the split
  std::vector<ChatTurn> messages;
  std::string answer;                         ///< reference answer; empty when a rule judges alone
  std::map<std::string, std::string> fields;  ///< what else belongs to it, by name
  friend bool operator==(const TextProblem&, const TextProblem&) = default;
};

/// One term of a reward.
struct RewardPart {
  std::string name;
  double value = 0;
  double weight = 1;
  friend bool operator==(const RewardPart&, const RewardPart&) = default;
};

/// What a response is worth.
struct TextScore {
  double reward = 0;  ///< finite; 0 when `failed`
  std::vector<RewardPart> parts;
  bool failed = false;  ///< the reward could not be computed: not the same as a reward of 0
  std::string why;      ///< when `failed`, the reason
};

/// Problems to train on, and problems that are never trained on.
enum class Split : uint8_t { Train, Eval };
std::string_view name(Split split) noexcept;

/// A supply of problems with a verifier. Immutable once made: every call may come from any thread,
/// and the same arguments give the same result. envs/text/arithmetic.h is one to copy.
class TextTask {
 public:
  virtual ~TextTask() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Problems in a split; -1 when it never ends. No problem is in both splits.
  [[nodiscard]] virtual int64_t size(Split split) const noexcept = 0;

  /// OutOfRange when `index` is negative or not below size(split).
  [[nodiscard]] virtual Result<TextProblem> problem(Split split, int64_t index) const = 0;

  /// Judges a response to a problem of this task. Never fails, hangs or throws: what cannot be
  /// judged is a score with `failed` set.
  [[nodiscard]] virtual TextScore score(const TextProblem& problem,
                                        std::string_view response) const = 0;
};

/// OutOfRange with the split's name and size, or OK.
Status check_index(const TextTask& task, Split split, int64_t index);

/// The reward is the sum of value times weight over `parts`. A sum that is not finite fails and
/// names the part it comes from.
[[nodiscard]] TextScore weighted_sum(std::vector<RewardPart> parts);
/// A score of one part, named "correct": 1 or 0.
[[nodiscard]] TextScore right_or_wrong(bool right);
/// A score that could not be computed.
[[nodiscard]] TextScore failed_score(std::string why);

}  // namespace sluice
