#pragma once
#include "envs/text/answer.h"
#include "envs/text/task.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Judges a response to a problem. Called from any thread. A failure means that it could not be
/// judged; so does a value that is not finite, and an exception.
using RewardFunction =
    std::function<Result<double>(const TextProblem& problem, std::string_view response)>;

/// One term of a weighted sum of rewards.
struct RewardTerm {
  std::string name;
  double weight = 1;
  RewardFunction value;
};

/// Evaluates every term and adds them up. The score has failed when one term has: `why` names it.
[[nodiscard]] TextScore score_terms(std::span<const RewardTerm> terms, const TextProblem& problem,
                                    std::string_view response);

/// 1 when the answer of that form equals the reference, but for white space at the ends; else 0.
RewardFunction exact_match(AnswerForm form);
/// 1 when the answer is the same decimal number as the reference ("1,200.0" is "1200"; see
/// number.h; any other text around the number is left out); else 0. Fails when the reference holds
/// no number.
RewardFunction number_match(AnswerForm form);
/// 1 when the answer means the same as the reference (same_answer); else 0.
RewardFunction math_match(AnswerForm form);
/// 1 when the pattern is found in the response; else 0.
Result<RewardFunction> pattern_match(const std::string& pattern);
/// 1 for a response of `least` to `most` characters; outside it falls linearly to 0 over `ramp`
/// characters (at once when that is 0). Characters are code points.
RewardFunction length_within(int64_t least, int64_t most, int64_t ramp = 0);

/// A term from its text, "[WEIGHT*]KIND[:ARGUMENT]": "math", "math:boxed", "exact:tags",
/// "0.5*number:gsm8k", "0.2*format:^<think>.*</think>", "0.1*length:10-200" or "length:10-200+50"
/// (with its ramp). Without a form the answer's form is "any". Unknown kinds name the nearest.
Result<RewardTerm> parse_reward(std::string_view text);

}  // namespace sluice
