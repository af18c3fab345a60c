#include "envs/text/answer.h"
#include "envs/text/countdown.h"
#include "envs/text/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sluice {
namespace {

using testing::HasSubstr;

const char* const kGenerated[] = {"comparison",   "countdown",          "digit_count",
                                  "letter_count", "string_reverse",     "string_sort",
                                  "string_upper", "knights_and_knaves", "word_problems"};

std::unique_ptr<TextTask> made(const std::string& name, int64_t difficulty, uint64_t seed = 1) {
  TextTaskOptions options;
  options.seed = seed;
  options.difficulty = difficulty;
  return *make_text_task(name, options);
}

// What a perfect model says.
std::string perfect(const TextProblem& problem) {
  const auto solution = problem.fields.find("solution");
  const std::string& answer = solution == problem.fields.end() ? problem.answer : solution->second;
  if (answer.find("####") != std::string::npos) return answer;
  return "So: <answer>" + answer + "</answer>";
}

TEST(GeneratedTasks, APerfectAnswerIsWorthOneAndNoneIsWorthNothing) {
  for (const std::string name : kGenerated) {
    for (const int64_t difficulty : {1, 2, 4}) {
      const auto task = made(name, difficulty);
      EXPECT_EQ(task->name(), name);
      for (int64_t i = 0; i < 40; ++i) {
        const auto problem = task->problem(Split::Train, i);
        ASSERT_TRUE(problem.ok()) << name;
        EXPECT_DOUBLE_EQ(task->score(*problem, perfect(*problem)).reward, 1)
            << problem->messages[0].content << " " << perfect(*problem);
        const TextScore nothing = task->score(*problem, "I do not know.");
        EXPECT_EQ(nothing.reward, 0);
        EXPECT_FALSE(nothing.failed);
      }
    }
  }
}

TEST(GeneratedTasks, AreAFunctionOfSeedSplitAndIndex) {
  for (const std::string name : kGenerated) {
    const auto a = made(name, 2);
    const auto b = made(name, 2);
    const auto other = made(name, 2, 9);
    int64_t different = 0;
    for (int64_t i = 19; i >= 0; --i) {
      EXPECT_EQ(*a->problem(Split::Train, i), *b->problem(Split::Train, i)) << name;
      different += *a->problem(Split::Train, i) == *other->problem(Split::Train, i) ? 0 : 1;
    }
    EXPECT_GT(different, 15) << name;
  }
}

TEST(GeneratedTasks, NeverTrainOnAnEvalQuestion) {
  for (const std::string name : kGenerated) {
    const auto task = made(name, 1);
    ASSERT_EQ(task->size(Split::Eval), 200);
    EXPECT_EQ(task->size(Split::Train), -1);
    std::set<std::string> held_out;
    for (int64_t i = 0; i < 200; ++i) {
      held_out.insert(task->problem(Split::Eval, i)->messages[0].content);
    }
    EXPECT_GT(held_out.size(), 50U) << name;
    for (int64_t i = 0; i < 400; ++i) {
      EXPECT_FALSE(held_out.contains(task->problem(Split::Train, i)->messages[0].content)) << name;
    }
    EXPECT_EQ(task->problem(Split::Eval, 200).status().code(), Code::OutOfRange);
  }
}

TEST(GeneratedTasks, RefuseLevelsThatAreNotThere) {
  for (const std::string name : kGenerated) {
    TextTaskOptions options;
    options.difficulty = 99;
    EXPECT_THAT(make_text_task(name, options).status().message(), HasSubstr("difficulty is 99"));
  }
}

TEST(Counting, CountsWhatTheQuestionShows) {
  const auto letters = made("letter_count", 3);
  const auto digits = made("digit_count", 3);
  bool more_than_one = false;
  for (int64_t i = 0; i < 50; ++i) {
    const auto letter = *letters->problem(Split::Train, i);
    const std::string& asked = letter.messages[0].content;
    const size_t quote = asked.find('\'');
    const std::string text = asked.substr(asked.find("in '") + 4);
    EXPECT_EQ(std::to_string(std::count(text.begin(), text.end(), asked[quote + 1])),
              letter.answer);
    const auto digit = *digits->problem(Split::Train, i);
    const std::string number =
        digit.messages[0].content.substr(digit.messages[0].content.find("in ") + 3);
    const char wanted =
        digit.messages[0].content[std::string("How many times does the digit ").size()];
    EXPECT_EQ(std::to_string(std::count(number.begin(), number.end(), wanted)), digit.answer);
    more_than_one |= digit.answer > "1";
  }
  EXPECT_TRUE(more_than_one);
}

TEST(Comparison, ComparesByValueNotByLength) {
  for (const int64_t difficulty : {1, 3, 4}) {
    const auto task = made("comparison", difficulty);
    for (int64_t i = 0; i < 100; ++i) {
      const auto problem = *task->problem(Split::Train, i);
      const std::string& text = problem.messages[0].content;
      const size_t begin = text.find(", ") + 2;
      const size_t middle = text.find(" or ");
      const double a = std::stod(text.substr(begin, middle - begin));
      const double b = std::stod(text.substr(middle + 4));
      EXPECT_DOUBLE_EQ(std::stod(problem.answer), std::max(a, b)) << text;
    }
  }
}

TEST(StringTasks, WantTheAnswerInTags) {
  const auto task = made("string_sort", 1);
  TextProblem problem;
  problem.answer = "apple, pear, plum";
  EXPECT_EQ(task->score(problem, "<answer>apple,pear,\nplum </answer>").reward, 1);
  EXPECT_EQ(task->score(problem, "apple, pear, plum").reward, 0);
  EXPECT_EQ(task->score(problem, "<answer>pear, apple, plum</answer>").reward, 0);
}

TEST(CountdownValue, IsExactAndListsItsNumbers) {
  const auto value = countdown_value("(1 + 2) / 3 * 4 - 10");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->above, -6);
  EXPECT_EQ(value->below, 1);
  EXPECT_EQ(value->numbers, (std::vector<int64_t>{1, 2, 3, 4, 10}));
  EXPECT_EQ(countdown_value("1/3+1/6")->below, 2);
  EXPECT_EQ(countdown_value("2\xC3\x97"
                            "3\xE2\x88\x92"
                            "1")
                ->above,
            5);
  EXPECT_EQ(countdown_value("8/(3-5)")->above, -4);
}

TEST(CountdownValue, RefusesEverythingElse) {
  for (const std::string text :
       {"", "1+", "(1", "1)", "-1", "1 2", "1**2", "2^3", "x", "1.5", "1/0", "1/(2-2)",
        "__import__", "99999999999999999999", "9999999999*9999999999", "1;2"}) {
    EXPECT_FALSE(countdown_value(text).ok()) << text;
  }
  EXPECT_EQ(countdown_value(std::string(300, '(')).status().code(), Code::ResourceExhausted);
}

TEST(Countdown, WantsEachNumberOnceAndTheTarget) {
  const auto task = made("countdown", 1);
  TextProblem problem;
  problem.fields = {{"numbers", "3 7 25"}, {"target", "46"}};
  const auto reward = [&](const std::string& answer) {
    return task->score(problem, "<answer>" + answer + "</answer>").reward;
  };
  EXPECT_DOUBLE_EQ(reward("7*3+25"), 1);
  EXPECT_DOUBLE_EQ(reward("25 + (7 * 3) = 46"), 1);
  EXPECT_DOUBLE_EQ(reward("46"), 0.1);
  EXPECT_DOUBLE_EQ(reward("7*3+25+0"), 0.1);
  EXPECT_DOUBLE_EQ(reward("7*3+25+7-7"), 0.1);
  EXPECT_DOUBLE_EQ(reward("7*3"), 0.1);
  EXPECT_DOUBLE_EQ(reward("7+3+25"), 0.1);
  EXPECT_DOUBLE_EQ(reward("seven"), 0);
  EXPECT_DOUBLE_EQ(reward("46 = 46 + "), 0);
  EXPECT_EQ(task->score(problem, "7*3+25").reward, 0);
  EXPECT_TRUE(task->score({}, "<answer>1</answer>").failed);
}

// What stands between << and >> in a solution is true, and leads to the answer.
TEST(WordProblems, WorkThemselvesOut) {
  for (const int64_t difficulty : {1, 6}) {
    const auto task = made("word_problems", difficulty);
    for (int64_t i = 0; i < 50; ++i) {
      const auto problem = *task->problem(Split::Train, i);
      const std::string& solution = problem.fields.at("solution");
      std::string last;
      int64_t steps = 0;
      for (size_t at = solution.find("<<"); at != std::string::npos;
           at = solution.find("<<", at + 1), ++steps) {
        const size_t equals = solution.find('=', at);
        const auto value = countdown_value(solution.substr(at + 2, equals - at - 2));
        ASSERT_TRUE(value.ok()) << solution;
        last = solution.substr(equals + 1, solution.find(">>", at) - equals - 1);
        EXPECT_EQ(std::to_string(value->above), last) << solution;
        EXPECT_EQ(value->below, 1);
      }
      EXPECT_EQ(steps, 1 + difficulty);
      EXPECT_EQ(last, problem.answer);
      EXPECT_DOUBLE_EQ(task->score(problem, "It is " + problem.answer).reward, 0.9);
      EXPECT_DOUBLE_EQ(task->score(problem, "#### 100000").reward, 0.1);
    }
  }
}

TEST(KnightsAndKnaves, ReadsWhatIsSaidOfEachPerson) {
  const auto task = made("knights_and_knaves", 1);
  TextProblem problem;
  problem.answer = "Ava: knight, Ben: knave";
  for (const std::string right :
       {"<answer>Ava: knight, Ben: knave</answer>", "Ben is a knave. Ava is a knight.",
        "<answer>AVA is a Knight;\nben is a knave</answer>",
        "Suppose Ava is a knave. No: Ava is a knight, Ben is a knave"}) {
    EXPECT_EQ(task->score(problem, right).reward, 1) << right;
  }
  for (const std::string wrong :
       {"<answer>Ava: knave, Ben: knave</answer>", "<answer>Ava: knight</answer>", "knight knave",
        "", "<answer>Ben: knave</answer> Ava is a knight", "Avas: knight, Ben: knave"}) {
    EXPECT_EQ(task->score(problem, wrong).reward, 0) << wrong;
  }
}

}  // namespace
}  // namespace sluice
