#include "envs/text/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Arithmetic, AsksInChatFormAndKnowsTheSum) {
  const ArithmeticTask task(1, 1);
  for (int64_t i = 0; i < task.size(Split::Train); ++i) {
    const auto problem = task.problem(Split::Train, i);
    ASSERT_TRUE(problem.ok());
    ASSERT_EQ(problem->messages.size(), 1U);
    EXPECT_EQ(problem->messages[0].role, "user");
    const std::string& text = problem->messages[0].content;
    ASSERT_THAT(text, MatchesRegex("What is [0-9]\\+[0-9]\\?"));
    EXPECT_EQ(std::stoi(problem->answer), (text[8] - '0') + (text[10] - '0'));
    EXPECT_EQ(problem->id, i);
  }
}

TEST(Arithmetic, HoldsPairsOutAndUsesEachOnce) {
  for (const int64_t difficulty : {1, 2}) {
    const ArithmeticTask task(5, difficulty);
    const int64_t all = difficulty == 1 ? 100 : 8100;
    EXPECT_EQ(task.size(Split::Eval), difficulty == 1 ? 20 : 500);
    EXPECT_EQ(task.size(Split::Train) + task.size(Split::Eval), all);
    std::set<std::string> seen;
    for (const Split split : {Split::Train, Split::Eval}) {
      for (int64_t i = 0; i < task.size(split); ++i) {
        seen.insert(task.problem(split, i)->messages[0].content);
      }
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), all);
  }
}

TEST(Arithmetic, TheSeedChoosesWhatIsHeldOut) {
  const auto held_out = [](uint64_t seed) {
    const ArithmeticTask task(seed, 1);
    std::set<std::string> out;
    for (int64_t i = 0; i < 20; ++i) out.insert(task.problem(Split::Eval, i)->messages[0].content);
    return out;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
}

TEST(Arithmetic, DifficultyCountsDigits) {
  EXPECT_THAT(ArithmeticTask(1, 2).problem(Split::Train, 3)->messages[0].content,
              MatchesRegex("What is [1-9][0-9]\\+[1-9][0-9]\\?"));
  const ArithmeticTask hard(1, 9);
  EXPECT_THAT(hard.problem(Split::Train, hard.size(Split::Train) - 1)->messages[0].content,
              MatchesRegex("What is [1-9][0-9]{8}\\+[1-9][0-9]{8}\\?"));
  for (const int64_t bad : {0, 10}) {
    EXPECT_THAT(ArithmeticTask::make({1, bad}).status().message(), HasSubstr("1 to 9"));
  }
}

TEST(Arithmetic, TheLastNumberCounts) {
  const ArithmeticTask task(1, 1);
  TextProblem problem;
  problem.answer = "8";
  for (const std::string_view right :
       {"8", "3+5=8", "The answer is 8.", "8.0", "I say 7. No: 8!"}) {
    EXPECT_EQ(task.score(problem, right).reward, 1) << right;
  }
  for (const std::string_view wrong : {"", "eight", "8 or 9", "-8", "18", "8.5", "7"}) {
    const TextScore score = task.score(problem, wrong);
    EXPECT_EQ(score.reward, 0) << wrong;
    EXPECT_FALSE(score.failed);
  }
}

TEST(Arithmetic, RefusesAnIndexThatIsNotThere) {
  const ArithmeticTask task(1, 1);
  EXPECT_THAT(task.problem(Split::Eval, 20).status().message(),
              HasSubstr("'arithmetic' has 20 eval problems; there is none with index 20"));
  EXPECT_EQ(task.problem(Split::Train, -1).status().code(), Code::OutOfRange);
}

}  // namespace
}  // namespace sluice
