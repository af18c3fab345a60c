#include "dataflow/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sluice {
namespace {

using ::testing::HasSubstr;

Result<int> half(int x) {
  if (x % 2 != 0) return invalid_argument("{} is odd", x);
  return x / 2;
}

Result<int> quarter(int x) {
  ASSIGN_OR_RETURN(const int h, half(x));
  ASSIGN_OR_RETURN(const int q, half(h));
  return q;
}

Status only_even(int x, bool* reached) {
  RETURN_IF_ERROR(half(x).status());
  *reached = true;
  return {};
}

TEST(Status, DefaultIsSuccess) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().to_string(), "OK");
  EXPECT_TRUE(Status().with_context("file").ok());
}

TEST(Status, TellsCodeContextAndMessage) {
  const Status status = error(Code::NotFound, "no environment '{}'", "X").with_context("a.toml:3");
  EXPECT_EQ(status.code(), Code::NotFound);
  EXPECT_EQ(status.message(), "a.toml:3: no environment 'X'");
  EXPECT_EQ(status.to_string(), "NOT_FOUND: a.toml:3: no environment 'X'");
}

TEST(Status, EveryCodeHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Code::Internal); ++i) {
    const auto text = name(static_cast<Code>(i));
    EXPECT_NE(text, "UNKNOWN");
    EXPECT_EQ(std::count(names.begin(), names.end(), text), 0) << text;
    names.push_back(text);
  }
}

TEST(Result, CarriesValueOrStatus) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3).ok());
  EXPECT_EQ(half(3).status().message(), "3 is odd");
}

TEST(Result, MadeFromASuccessWithoutValueIsAnInternalError) {
  const Result<int> result = Status();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::Internal);
}

TEST(Result, MovesOutValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(Result, MacrosPassFailuresUp) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  bool reached = false;
  EXPECT_FALSE(only_even(1, &reached).ok());
  EXPECT_FALSE(reached);
  EXPECT_TRUE(only_even(2, &reached).ok());
  EXPECT_TRUE(reached);
}

TEST(Check, ThrowsConditionPlaceAndText) {
  const auto fail = [](int n) { SLUICE_CHECK(n > 0) << "n is " << n; };
  EXPECT_NO_THROW(fail(1));
  try {
    fail(-2);
    FAIL() << "the check passed";
  } catch (const CheckFailure& e) {
    EXPECT_THAT(e.what(), HasSubstr("result_test.cc:"));
    EXPECT_THAT(e.what(), HasSubstr("check failed: n > 0 n is -2"));
  }
}

}  // namespace
}  // namespace sluice
