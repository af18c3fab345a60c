#include "envs/text/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(BoxedAnswer, TakesTheLastBoxWithItsNestedBraces) {
  const std::pair<std::string_view, std::optional<std::string>> cases[] = {
      {R"(so \boxed{42})", "42"},
      {R"(\boxed{\frac{1}{2}} is it)", R"(\frac{1}{2})"},
      {R"(\boxed{1} or \boxed{ 2 })", "2"},
      {R"(\boxed{\left\{1, 2\right\}})", R"(\left\{1, 2\right\})"},
      {R"(\boxed{1} and \boxed{2)", "1"},
      {R"(\boxed{a \boxed{b} c)", "b"},
      {R"(\fbox{7})", "7"},
      {R"($\boxed 5$)", "5"},
      {R"(\boxed)", std::nullopt},
      {R"(\boxedx{3})", std::nullopt},
      {R"(\boxed{)", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(boxed_answer(text), wanted) << text;
}

TEST(BoxedAnswer, IsLinearInTheLengthOfTheText) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "\\boxed{";
  EXPECT_EQ(boxed_answer(text), std::nullopt);
  EXPECT_EQ(boxed_answer(text + "1}"), "1");
}

TEST(TaggedAnswer, TakesTheLastThatCloses) {
  EXPECT_EQ(tagged_answer("<answer> 8 </answer>"), "8");
  EXPECT_EQ(tagged_answer("<answer>1</answer> no <answer>2</answer> <answer>3"), "2");
  EXPECT_EQ(tagged_answer("<answer>\n1\n2\n</answer>"), "1\n2");
  EXPECT_EQ(tagged_answer("<answer></answer>"), "");
  EXPECT_EQ(tagged_answer("<a><answer>1</answer></a>", "a"), "<answer>1</answer>");
  EXPECT_EQ(tagged_answer("</answer>8<answer>"), std::nullopt);
  EXPECT_EQ(tagged_answer("8"), std::nullopt);
}

TEST(Gsm8kAnswer, IsTheRestOfTheLineBehindTheMark) {
  EXPECT_EQ(gsm8k_answer("2*3 = <<2*3=6>>6\n#### 6"), "6");
  EXPECT_EQ(gsm8k_answer("#### 1,200\nmore"), "1,200");
  EXPECT_EQ(gsm8k_answer("#### 1\n#### 2"), "2");
  EXPECT_EQ(gsm8k_answer("####\n6"), std::nullopt);
  EXPECT_EQ(gsm8k_answer("6"), std::nullopt);
}

TEST(ExtractAnswer, AnyTakesTheMostExplicitFormThatIsThere) {
  const std::string all = R"(\boxed{1} <answer>2</answer> 5
#### 3
and 4)";
  EXPECT_EQ(extract_answer(all, AnswerForm::Any), "1");
  EXPECT_EQ(extract_answer(all, AnswerForm::Tags), "2");
  EXPECT_EQ(extract_answer(all, AnswerForm::Gsm8k), "3");
  EXPECT_EQ(extract_answer(all, AnswerForm::LastNumber), "4");
  EXPECT_EQ(extract_answer("<answer>2</answer> 5", AnswerForm::Any), "2");
  EXPECT_EQ(extract_answer("5 is it", AnswerForm::Any), "5");
  EXPECT_EQ(extract_answer(" all of it ", AnswerForm::Whole), "all of it");
  EXPECT_EQ(extract_answer("nothing", AnswerForm::Any), std::nullopt);
}

TEST(AnswerFormNames, GoBothWays) {
  for (const AnswerForm form : {AnswerForm::LastNumber, AnswerForm::Boxed, AnswerForm::Tags,
                                AnswerForm::Gsm8k, AnswerForm::Whole, AnswerForm::Any}) {
    const auto back = answer_form(name(form));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, form);
  }
  EXPECT_THAT(answer_form("boxd").status().message(), HasSubstr("did you mean 'boxed'?"));
}

}  // namespace
}  // namespace sluice
