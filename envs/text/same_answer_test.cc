#include "envs/text/same_answer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// -1 when the reference cannot be judged.
int same(std::string_view given, std::string_view reference) {
  const auto result = same_answer(given, reference);
  return result.ok() ? static_cast<int>(*result) : -1;
}

TEST(SameAnswer, AgreesWithMathVerify) {
  std::ifstream file(SLUICE_SOURCE_DIR "/envs/text/testdata/math_golden.json");
  const auto rows = nlohmann::json::parse(file);
  ASSERT_GT(rows.size(), 40U);
  for (const auto& row : rows) {
    const auto given = row["given"].get<std::string>();
    const auto reference = row["reference"].get<std::string>();
    EXPECT_EQ(same(given, reference), row["same"].get<bool>() ? 1 : 0)
        << given << " and " << reference;
  }
}

TEST(SameAnswer, ComparesIdentitiesExactly) {
  EXPECT_EQ(same("(a+b)^10-(a-b)^10", "20a^9b+240a^7b^3+504a^5b^5+240a^3b^7+20ab^9"), 1);
  EXPECT_EQ(same("(a+b)^10-(a-b)^10", "20a^9b+240a^7b^3+504a^5b^5+240a^3b^7+21ab^9"), 0);
  EXPECT_EQ(same("\\frac{10^{40}+1}{10^{40}}", "1"), 0);
  EXPECT_EQ(same("\\sqrt{10^{20}+1}", "10^{10}"), 0);
  EXPECT_EQ(same("x/(x+1)", "1-1/(x+1)"), 1);
  EXPECT_EQ(same("\\ln(2x)", "\\ln 2+\\ln x"), 1);
  EXPECT_EQ(same("i^2", "-1"), 1);
}

TEST(SameAnswer, ADecimalIsRoundedAFractionIsNot) {
  EXPECT_EQ(same("0.33", "1/3"), 0);
  EXPECT_EQ(same("0.3333333", "1/3"), 1);
  EXPECT_EQ(same("3.1415927", "\\pi"), 1);
  EXPECT_EQ(same("333333333/1000000000", "1/3"), 0);
  EXPECT_EQ(same("0.3333333x", "x/3"), 0);
}

TEST(SameAnswer, ComparesWordsAsTexts) {
  EXPECT_EQ(same(" Paris ", "Paris"), 1);
  EXPECT_EQ(same("London, UK", "Paris"), 0);
  EXPECT_EQ(same("", "Paris"), 0);
  EXPECT_EQ(same("", ""), 1);
  EXPECT_EQ(same("#", "5"), 0);
}

TEST(SameAnswer, BracketsMatterSetsHaveNoOrder) {
  EXPECT_EQ(same("[0,1)", "[0,1]"), 0);
  EXPECT_EQ(same("(1,2,3)", "(1,2)"), 0);
  EXPECT_EQ(same("1, 2", "1,2"), 1);
  EXPECT_EQ(same("(1,234)", "(1, 234)"), 1);
  EXPECT_EQ(same("\\{1/2, 3\\}", "\\{3, 0.5\\}"), 1);
  EXPECT_EQ(same("\\{1, 1\\}", "\\{1, 2\\}"), 0);
  EXPECT_EQ(same("\\{5\\}", "5"), 0);
}

TEST(SameAnswer, WhatIsTooLargeIsWrongAndAHugeReferenceFails) {
  for (const char* hostile : {"9^9^9^9", "(a+b+c+d)^{100}", "(x^{900})^{900}", "2^{1000000000}",
                              "((10^{999})^{999})^{999}", "e^{e^{e^{e^{e^e}}}}",
                              "\\sin(10^{999})^{999}", "1/0", "1/(x-x)", "\\ln(0)", "0^{-1}",
                              "\\tan(\\pi/2)", "x^{y^{z^{w}}}", "((((a+b)^9+c)^9+d)^9+f)^9"}) {
    EXPECT_EQ(same(hostile, "5"), 0) << hostile;
  }
  EXPECT_EQ(same("5", "9^9^9"), -1);
  EXPECT_EQ(same("5", "1/0"), -1);
  EXPECT_EQ(same(std::string(100000, '('), "5"), 0);
  EXPECT_EQ(same("5", std::string(2000, '1')), -1);
}

TEST(SameAnswer, ManyThreadsMayAskAtOnce) {
  std::vector<int> right(4);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < right.size(); ++t) {
      threads.emplace_back([&right, t] {
        for (int i = 1; i <= 25; ++i) {
          const std::string n = std::to_string(i + 100 * static_cast<int>(t));
          right[t] += same("(x+" + n + ")^2", "x^2+2*" + n + "x+" + n + "^2");
          right[t] += same("\\sqrt{" + n + "}", "\\sqrt{" + n + "}+0.001x");
        }
      });
    }
  }
  EXPECT_EQ(right, std::vector<int>(4, 25));
}

}  // namespace
}  // namespace sluice
