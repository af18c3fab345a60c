#include "envs/text/number.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(LastNumber, ReadsNumbersAsPeopleWriteThem) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"3+5=8", "8"},
      {"The answer is 8.", "8"},
      {"8, I think", "8"},
      {"It is 1,234,567 dollars", "1,234,567"},
      {"Choose 1,2,3", "3"},
      {"12,34", "34"},
      {"costs $3.50.", "3.50"},
      {"about .5", ".5"},
      {"x = -8", "-8"},
      {"x=-8", "-8"},
      {"(-8)", "-8"},
      {"11-3", "3"},
      {"x-3", "3"},
      {"(1)-3", "3"},
      {"\xE2\x88\x92"
       "12",
       "\xE2\x88\x92"
       "12"},
      {"5\xE2\x88\x92"
       "12",
       "12"},
      {"it is 3/4", "3/4"},
      {"it is -3/4 of it", "-3/4"},
      {"8/", "8"},
      {"+7", "+7"},
      {"1e5", "5"},
      {"none", ""},
      {"", ""},
      {"....---", ""},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(last_number(text), wanted) << text;
}

TEST(LastNumber, IsLinearInTheLengthOfTheText) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "1,";
  EXPECT_EQ(last_number(text + std::string(200000, '7')).size(), 200000U);
}

TEST(CanonicalDecimal, IsOneTextPerNumber) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"8", "8"},
      {"8.0", "8"},
      {"8.", "8"},
      {"+08.50", "8.5"},
      {"1,200.50", "1200.5"},
      {".5", "0.5"},
      {"-0.0", "0"},
      {"-.50", "-0.5"},
      {"000", "0"},
      {"-1,000", "-1000"},
      {"\xE2\x88\x92"
       "3",
       "-3"},
      {"123456789012345678901234567890.10", "123456789012345678901234567890.1"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(canonical_decimal(text), wanted) << text;
}

TEST(CanonicalDecimal, RefusesWhatIsNotOneDecimal) {
  for (const std::string_view text :
       {"", "-", ".", "+.", "3/4", "1 2", "12,34", "1,2345", "8x", "--8", "1.2.3", "1e5", "- 8"}) {
    EXPECT_EQ(canonical_decimal(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sluice
