#include "envs/text/rewards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace sluice {
namespace {

using testing::HasSubstr;

double reward(const std::string& spec, std::string_view answer, std::string_view response) {
  const auto term = parse_reward(spec);
  if (!term.ok()) return NAN;
  TextProblem problem;
  problem.answer = answer;
  const auto value = term->value(problem, response);
  return value.ok() ? *value : NAN;
}

TEST(ParseReward, MakesEveryKind) {
  EXPECT_EQ(reward("math", "1/2", "it is \\boxed{0.5}"), 1);
  EXPECT_EQ(reward("math:boxed", "1/2", "it is 0.5"), 0);
  EXPECT_EQ(reward("number", "1,200 dollars", "#### 1200.0"), 1);
  EXPECT_EQ(reward("number:gsm8k", "7", "7"), 0);
  EXPECT_EQ(reward("number", "7", "eight"), 0);
  EXPECT_EQ(reward("exact:tags", " Paris", "<answer>Paris </answer>"), 1);
  EXPECT_EQ(reward("exact:whole", "Paris", "It is Paris"), 0);
  EXPECT_EQ(reward("format:^<a>\\d*</a>$", "", "<a>12</a>"), 1);
  EXPECT_EQ(reward("format:^a:b*$", "", "a:bbb"), 1);
  EXPECT_EQ(reward("length:2-4", "", "\xC3\xA9\xC3\xA9"), 1);
  EXPECT_EQ(reward("length:2-4", "", "12345"), 0);
  EXPECT_EQ(reward("length:2-4+4", "", "12345"), 0.75);
  EXPECT_EQ(reward("length:4-9+2", "", "123"), 0.5);
}

TEST(ParseReward, ReadsTheWeight) {
  EXPECT_EQ(parse_reward("math")->weight, 1);
  EXPECT_EQ(parse_reward("0.25*exact:tags")->weight, 0.25);
  EXPECT_EQ(parse_reward("0.25*exact:tags")->name, "exact");
  EXPECT_EQ(parse_reward("-1*length:0-5")->weight, -1);
}

TEST(ParseReward, SaysWhatIsWrong) {
  const auto why = [](std::string_view text) { return parse_reward(text).status().message(); };
  EXPECT_THAT(why("maths"), HasSubstr("did you mean 'math'?"));
  EXPECT_THAT(why("math:boxd"), HasSubstr("did you mean 'boxed'?"));
  EXPECT_THAT(why("x*math"), HasSubstr("'x' is no weight"));
  EXPECT_THAT(why("nan*math"), HasSubstr("'nan' is no weight"));
  EXPECT_THAT(why("format:("), HasSubstr("at byte 1"));
  for (const auto* bad : {"length", "length:5", "length:5-2", "length:1-2+", "length:a-b"}) {
    EXPECT_THAT(why(bad), HasSubstr("no range of lengths")) << bad;
  }
}

TEST(ScoreTerms, AddsUpAndKeepsTheParts) {
  std::vector<RewardTerm> terms;
  terms.push_back(*parse_reward("math:tags"));
  terms.push_back(*parse_reward("0.5*format:<answer>"));
  TextProblem problem;
  problem.answer = "8";
  const TextScore score = score_terms(terms, problem, "<answer>9</answer>");
  EXPECT_EQ(score.reward, 0.5);
  EXPECT_EQ(score.parts, (std::vector<RewardPart>{{"math", 0, 1}, {"format", 1, 0.5}}));
}

TEST(ScoreTerms, ATermThatThrowsOrIsNotFiniteFailsTheScore) {
  const auto score = [](RewardFunction value) {
    const RewardTerm terms[] = {{"good", 1, exact_match(AnswerForm::Whole)},
                                {"bad", 1, std::move(value)}};
    return score_terms(terms, {}, "");
  };
  const auto threw = score([](const TextProblem&, std::string_view) -> Result<double> {
    throw std::runtime_error("out of luck");
  });
  EXPECT_TRUE(threw.failed);
  EXPECT_EQ(threw.reward, 0);
  EXPECT_THAT(threw.why, HasSubstr("reward 'bad': it threw: out of luck"));
  EXPECT_TRUE(
      score([](const TextProblem&, std::string_view) -> Result<double> { throw 3; }).failed);
  EXPECT_TRUE(
      score([](const TextProblem&, std::string_view) -> Result<double> { return NAN; }).failed);
  EXPECT_THAT(score([](const TextProblem&, std::string_view) -> Result<double> {
                return error(Code::Unavailable, "no judge");
              }).why,
              HasSubstr("no judge"));
  EXPECT_FALSE(
      score([](const TextProblem&, std::string_view) -> Result<double> { return 0.0; }).failed);
}

TEST(NumberMatch, FailsWhenTheReferenceHoldsNoNumber) {
  TextProblem problem;
  problem.answer = "none";
  EXPECT_FALSE(number_match(AnswerForm::Any)(problem, "5").ok());
}

}  // namespace
}  // namespace sluice
