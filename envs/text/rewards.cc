#include "envs/text/rewards.h"

#include "dataflow/base/nearest.h"
#include "envs/text/number.h"
#include "envs/text/same_answer.h"
#include "envs/text/text_pattern.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

namespace sluice {
namespace {

Result<double> guarded(const RewardTerm& term, const TextProblem& problem,
                       std::string_view response) {
  // User code stands behind a term.
  try {
    return term.value(problem, response);
  } catch (const std::exception& problem_found) {
    return error(Code::Internal, "it threw: {}", problem_found.what());
  } catch (...) {
    return error(Code::Internal, "it threw something that is no std::exception");
  }
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc() && end == text.data() + text.size();
}

Result<RewardFunction> parse_length(std::string_view text) {
  const size_t dash = text.find('-');
  const size_t plus = text.find('+');
  int64_t least = 0;
  int64_t most = 0;
  int64_t ramp = 0;
  const bool good =
      dash != std::string_view::npos && parse_whole(text.substr(0, dash), least) &&
      parse_whole(text.substr(dash + 1, plus == text.npos ? plus : plus - dash - 1), most) &&
      (plus == std::string_view::npos || parse_whole(text.substr(plus + 1), ramp));
  if (!good || least < 0 || most < least || ramp < 0) {
    return invalid_argument("'{}' is no range of lengths; it is written 10-200 or 10-200+50", text);
  }
  return length_within(least, most, ramp);
}

Result<RewardFunction> parse_kind(std::string_view kind, std::string_view argument) {
  static const std::vector<std::string> kKinds = {"math", "number", "exact", "format", "length"};
  if (kind == "format") return pattern_match(std::string(argument));
  if (kind == "length") return parse_length(argument);
  if (kind != "math" && kind != "number" && kind != "exact") {
    const std::string near = did_you_mean(kind, kKinds);
    return error(Code::NotFound, "unknown reward '{}'{} Known: {}", kind, near.empty() ? "." : near,
                 fmt::join(kKinds, ", "));
  }
  AnswerForm form = AnswerForm::Any;
  if (!argument.empty()) {
    ASSIGN_OR_RETURN(form, answer_form(argument));
  }
  if (kind == "math") return math_match(form);
  return kind == "number" ? number_match(form) : exact_match(form);
}

}  // namespace

TextScore score_terms(std::span<const RewardTerm> terms, const TextProblem& problem,
                      std::string_view response) {
  std::vector<RewardPart> parts;
  std::string why;
  for (const RewardTerm& term : terms) {
    const auto value = guarded(term, problem, response);
    if (value.ok()) {
      parts.push_back({term.name, *value, term.weight});
    } else if (why.empty()) {
      why = fmt::format("reward '{}': {}", term.name, value.status().message());
    }
  }
  if (why.empty()) return weighted_sum(std::move(parts));
  TextScore score = failed_score(std::move(why));
  score.parts = std::move(parts);
  return score;
}

RewardFunction exact_match(AnswerForm form) {
  return [form](const TextProblem& problem, std::string_view response) -> Result<double> {
    const auto answer = extract_answer(response, form);
    return answer && *answer == trimmed(problem.answer) ? 1.0 : 0.0;
  };
}

RewardFunction number_match(AnswerForm form) {
  return [form](const TextProblem& problem, std::string_view response) -> Result<double> {
    const auto wanted = canonical_decimal(last_number(problem.answer));
    if (!wanted) return invalid_argument("the reference '{}' holds no number", problem.answer);
    const auto answer = extract_answer(response, form);
    return answer && canonical_decimal(last_number(*answer)) == wanted ? 1.0 : 0.0;
  };
}

RewardFunction math_match(AnswerForm form) {
  return [form](const TextProblem& problem, std::string_view response) -> Result<double> {
    const auto answer = extract_answer(response, form);
    if (!answer) return 0.0;
    ASSIGN_OR_RETURN(const bool same, same_answer(*answer, problem.answer));
    return same ? 1.0 : 0.0;
  };
}

Result<RewardFunction> pattern_match(const std::string& pattern) {
  ASSIGN_OR_RETURN(TextPattern compiled, TextPattern::compile(pattern));
  // std::function wants what it holds to be copyable.
  auto shared = std::make_shared<const TextPattern>(std::move(compiled));
  return RewardFunction([shared = std::move(shared)](const TextProblem&,
                                                     std::string_view response) -> Result<double> {
    ASSIGN_OR_RETURN(const bool found, shared->found_in(response));
    return found ? 1.0 : 0.0;
  });
}

RewardFunction length_within(int64_t least, int64_t most, int64_t ramp) {
  return [least, most, ramp](const TextProblem&, std::string_view response) -> Result<double> {
    const auto length = static_cast<int64_t>(
        std::count_if(response.begin(), response.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    const int64_t outside = std::max<int64_t>({0, least - length, length - most});
    if (outside == 0) return 1.0;
    if (outside >= ramp) return 0.0;
    return 1.0 - static_cast<double>(outside) / static_cast<double>(ramp);
  };
}

Result<RewardTerm> parse_reward(std::string_view text) {
  RewardTerm term;
  std::string_view rest = text;
  const size_t star = rest.find('*');
  const size_t colon = rest.find(':');
  // A star behind the colon belongs to a pattern.
  if (star != std::string_view::npos && star < colon) {
    if (!parse_whole(rest.substr(0, star), term.weight) || !std::isfinite(term.weight)) {
      return invalid_argument("reward '{}': '{}' is no weight", text, rest.substr(0, star));
    }
    rest.remove_prefix(star + 1);
  }
  const size_t end = rest.find(':');
  term.name = rest.substr(0, end);
  const std::string_view argument = end == std::string_view::npos ? "" : rest.substr(end + 1);
  auto value = parse_kind(term.name, argument);
  if (!value.ok()) return value.status().with_context(fmt::format("reward '{}'", text));
  term.value = *std::move(value);
  return term;
}

}  // namespace sluice
