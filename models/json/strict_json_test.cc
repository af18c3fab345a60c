#include "models/json/strict_json.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using ::testing::HasSubstr;

TEST(StrictJson, RefusesWhatIsNotStrictJson) {
  const auto said = [](const std::string& text) {
    const auto parsed = parse_json(text, {1000, 8});
    return parsed.ok() ? parsed->dump() : parsed.status().message();
  };
  EXPECT_EQ(said(R"({"a":[1,{"b":null}],"c":"x"})"), R"({"a":[1,{"b":null}],"c":"x"})");
  EXPECT_EQ(said("3"), "3");
  EXPECT_THAT(said(""), HasSubstr("not JSON"));
  EXPECT_THAT(said("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(said(R"({"a":{"b":1,"b":2}})"), HasSubstr("duplicate key 'b'"));
  EXPECT_THAT(said(std::string(100, '[')), HasSubstr("deeper than 8"));
  EXPECT_THAT(said("\"\xc3\x28\""), HasSubstr("not UTF-8 at byte 1"));
  EXPECT_THAT(said(std::string(2000, ' ')), HasSubstr("above the limit"));
}

TEST(StrictJson, OrderedObjectsAreAsStrictAndKeepTheirOrder) {
  const auto parsed = parse_ordered_json(R"({"b":[{"z":1,"a":2}],"a":{"y":0,"x":{}}})");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->dump(), R"({"b":[{"z":1,"a":2}],"a":{"y":0,"x":{}}})");
  EXPECT_THAT(parse_ordered_json(R"({"b":1,"a":2,"b":3})").status().message(),
              HasSubstr("duplicate key 'b'"));
  EXPECT_THAT(parse_ordered_json(std::string(1'000'000, '[')).status().message(),
              HasSubstr("nested deeper than 64"));
}

TEST(StrictJson, ErrorsStayOnOneLine) {
  EXPECT_EQ(parse_json(R"({"a\nb":1,"a\nb":2})").status().message(), "duplicate key 'a?b'");
  const Status status = one_line(error(Code::DataLoss, "x\n\x1b[31m\x7f\xc3\xa9"));
  EXPECT_EQ(status.message(), "x??[31m?\xc3\xa9");
  EXPECT_EQ(status.code(), Code::DataLoss);
}

}  // namespace
}  // namespace sluice
