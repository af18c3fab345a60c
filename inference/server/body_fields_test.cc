#include "inference/server/body_fields.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using nlohmann::json;

template <class T>
std::string fault_of(const json& value, T& out) {
  const json object{{"x", value}};
  BodyFields fields(object);
  fields.read("x", out);
  return fields.status().message();
}

TEST(BodyFields, TakesWhatFitsItsType) {
  int32_t i = 0;
  EXPECT_EQ(fault_of(-5, i), "");
  EXPECT_EQ(i, -5);
  float f = 0;
  EXPECT_EQ(fault_of(2, f), "") << "a whole number is a number";
  EXPECT_EQ(f, 2);
  uint64_t u = 0;
  EXPECT_EQ(fault_of(INT64_MAX, u), "");
  EXPECT_EQ(u, static_cast<uint64_t>(INT64_MAX));
  bool b = false;
  EXPECT_EQ(fault_of(true, b), "");
  EXPECT_TRUE(b);
  std::optional<int32_t> maybe;
  EXPECT_EQ(fault_of(nullptr, maybe), "");
  EXPECT_FALSE(maybe.has_value());
  EXPECT_EQ(fault_of(3, maybe), "");
  EXPECT_EQ(maybe, 3);
}

TEST(BodyFields, RefusesOtherTypesAndRangesAndLeavesTheValue) {
  int32_t i = 7;
  EXPECT_EQ(fault_of("5", i), "'x' must be a whole number, not a string");
  EXPECT_EQ(fault_of(5.0, i), "'x' must be a whole number, not a number with a fraction");
  EXPECT_EQ(fault_of(int64_t{1} << 40, i),
            "'x' must lie in [-2147483648, 2147483647], not 1099511627776");
  EXPECT_EQ(fault_of(UINT64_MAX, i),
            "'x' must lie in [-2147483648, 2147483647], not 18446744073709551615");
  EXPECT_EQ(i, 7);
  uint64_t u = 7;
  EXPECT_NE(fault_of(-1, u), "");
  float f = 7;
  EXPECT_EQ(fault_of(1e39, f), "'x' is too large: 1e+39");
  EXPECT_EQ(f, 7);
  bool b = true;
  EXPECT_EQ(fault_of(0, b), "'x' must be true or false, not a whole number");
  EXPECT_TRUE(b);
}

TEST(BodyFields, NamesWhatNobodyAskedFor) {
  const json object{{"temprature", 1}};
  BodyFields fields(object, "inner.");
  float f = 0;
  fields.read("temperature", f);
  EXPECT_EQ(fields.status().message(),
            "unknown field 'inner.temprature', did you mean 'temperature'?");
  fields.ignore({"temprature"});
  EXPECT_TRUE(fields.status().ok());
}

TEST(BodyFields, TextsMayBeOneOrMany) {
  for (const json& value : {json("a"), json::array({"a"})}) {
    const json object{{"stop", value}};
    BodyFields fields(object);
    std::vector<std::string> out;
    fields.read_texts("stop", out);
    EXPECT_TRUE(fields.status().ok());
    EXPECT_EQ(out, std::vector<std::string>{"a"});
  }
}

}  // namespace
}  // namespace sluice
