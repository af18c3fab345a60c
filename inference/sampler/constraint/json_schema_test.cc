#include "inference/sampler/constraint/json_schema.h"

#include "inference/sampler/constraint/constraint.h"
#include "inference/sampler/constraint/constraint_fixture.h"
#include "inference/sampler/constraint/schema_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {
using nlohmann::json;
using testing::HasSubstr;

bool allows(std::string_view schema, std::string_view text) {
  const auto made = Constraint::json_schema(schema);
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return false;
  const ByteDfa& dfa = (*made)->automaton();
  const auto state = dfa.walk(ByteDfa::kStart, text);
  return state != ByteDfa::kDead && dfa.accepts(state);
}

const char* const kSchemas[] = {
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":130}},"required":["name","age"],"additionalProperties":false})",
    R"({"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"null"},"c":{"type":"number"}},"required":["b"]})",
    R"({"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"integer"}}})",
    R"({"type":"array","items":{"type":"integer","exclusiveMinimum":-7,"maximum":12},"minItems":2,"maxItems":4})",
    R"({"type":"array","items":{"enum":["red","green",3,null,1.5,{"x":[1]}]},"minItems":1})",
    R"({"type":"string","minLength":2,"maxLength":5})",
    R"({"type":"string","pattern":"^[a-c\"\\\\]+-[0-9]{2}$"})",
    R"({"type":["string","null","integer"]})",
    R"({"anyOf":[{"const":"x"},{"type":"object","properties":{"k":{"type":"array","items":{"type":"boolean"}}},"required":["k"]}]})",
    R"({"$defs":{"point":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}},"type":"object","properties":{"from":{"$ref":"#/$defs/point"},"to":{"allOf":[{"$ref":"#/$defs/point"}]}},"required":["from","to"]})",
    R"({"type":"object","additionalProperties":{"type":"integer"}})",
    R"({"type":"object","required":["free"]})",
    R"({"type":"object"})",
    R"(true)",
};

TEST(JsonSchema, EveryTextFromRandomLogitsIsValid) {
  ConstraintFixture fixture;
  for (const char* text : kSchemas) {
    const json schema = json::parse(text);
    const auto made = Constraint::json_schema(text);
    ASSERT_TRUE(made.ok()) << text << ": " << made.status().message();
    ConstraintMasks masks = fixture.masks(*made);
    int finished = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const auto drawn = fixture.draw(masks, seed);
      if (!drawn) continue;
      ++finished;
      const json value = json::parse(*drawn, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << *drawn;
      EXPECT_EQ(schema_fault(value, schema, schema), "") << *drawn << " under " << text;
    }
    EXPECT_GT(finished, 3) << text;
  }
}

TEST(JsonSchema, ObjectsHaveTheirPropertiesInOrder) {
  const char* schema =
      R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["b"]})";
  for (const char* text :
       {R"({"b": 2})", R"({"a":1,"b":2,"c":3})", R"({"a": 1, "b": 2})", R"({"b":2, "c": 3})"}) {
    EXPECT_TRUE(allows(schema, text)) << text;
  }
  for (const char* text : {"{}", R"({"a":1})", R"({"b":2,"a":1})", R"({"b":2,})", R"({,"b":2})",
                           R"({"a":1"b":2})", R"({"b":2,"d":4})", R"({"b":2,"b":2})"}) {
    EXPECT_FALSE(allows(schema, text)) << text;
  }
  const char* optional = R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}}})";
  for (const char* text : {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"}) {
    EXPECT_TRUE(allows(optional, text)) << text;
  }
}

TEST(JsonSchema, IntegersKeepTheirBounds) {
  for (const auto& [least, most] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 0}, {-3, 5}, {7, 1234}, {-1234, -99}, {99, 101}, {-1, 1}, {1000, 1000}, {0, 9999}}) {
    const std::string schema =
        json{{"type", "integer"}, {"minimum", least}, {"maximum", most}}.dump();
    const auto made = Constraint::json_schema(schema);
    ASSERT_TRUE(made.ok());
    const ByteDfa& dfa = (*made)->automaton();
    for (int64_t i = -10500; i <= 10500; ++i) {
      const auto state = dfa.walk(ByteDfa::kStart, std::to_string(i));
      ASSERT_EQ(state != ByteDfa::kDead && dfa.accepts(state), i >= least && i <= most)
          << i << " under " << schema;
    }
    for (const char* text : {"-0", "007", "", "-", "+1"}) EXPECT_FALSE(allows(schema, text));
  }
  EXPECT_TRUE(allows(R"({"type":"integer","exclusiveMinimum":1.5})", "2"));
  EXPECT_FALSE(allows(R"({"type":"integer","exclusiveMinimum":2})", "2"));
  EXPECT_TRUE(allows(R"({"type":"integer"})", "-123456789012345678"));
}

TEST(JsonSchema, StringsCountCharactersAndEscape) {
  const char* two = R"({"type":"string","minLength":2,"maxLength":2})";
  for (const char* text : {R"("ab")", R"("é😀")", R"("\n\u00e9")", R"("\"\\")"}) {
    EXPECT_TRUE(allows(two, text)) << text;
  }
  for (const char* text :
       {R"("a")", R"("abc")", "\"a\nb\"", R"("\x")", R"("\ud800a")", R"("\u12")", "\"\xff\xff\""}) {
    EXPECT_FALSE(allows(two, text)) << text;
  }
  const char* pattern = R"({"type":"string","pattern":"a\"[\\n ]"})";
  EXPECT_TRUE(allows(pattern, R"("xxa\"\nyy")"));
  EXPECT_TRUE(allows(pattern, R"("a\" ")"));
  EXPECT_FALSE(allows(pattern, R"("a\"x")"));
}

TEST(JsonSchema, WhatIsNotSupportedIsNamedWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"not":{}})", "#: keyword 'not' is not supported"},
      {R"({"type":"object","properties":{"a":{"type":"string","format":"date"}}})",
       "#/properties/a: keyword 'format' is not supported"},
      {R"({"type":"array","items":{"oneOf":[]}})", "#/items: keyword 'oneOf' is not supported"},
      {R"({"type":"array","uniqueItems":true})", "keyword 'uniqueItems' is not supported"},
      {R"({"anyOf":[{"type":"null"}],"type":"string"})",
       "keyword 'type' beside 'anyOf' is not supported"},
      {R"({"type":"number","minimum":1})", "keyword 'minimum' of type number is not supported"},
      {R"({"type":"string","pattern":"a","minLength":3})", "keyword 'pattern' together"},
      {R"({"type":"string","pattern":"\\bx"})", "\\b is not supported"},
      {R"({"type":"text"})", "unknown type"},
      {R"({"type":[]})", "type is an empty list"},
      {R"({"enum":[]})", "enum allows nothing"},
      {R"({"type":"string","enum":[1]})", "enum allows nothing"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "no integer lies between"},
      {R"({"type":"array","minItems":3,"maxItems":2})", "minItems is more than maxItems"},
      {R"({"type":"string","maxLength":-1})", "maxLength must be a whole number"},
      {R"({"$ref":"#/$defs/none"})", "leads nowhere"},
      {R"({"$ref":"other.json"})", "only references into the schema"},
      {R"({"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"})",
       "contains itself"},
      {R"({"type":"object","required":["a"],"additionalProperties":false})", "forbids it"},
      {R"(false)", "false allows nothing"},
      {R"([1])", "a schema must be an object or true"},
      {R"({"type":)", "json schema"},
  };
  for (const auto& [schema, message] : cases) {
    const auto made = Constraint::json_schema(schema);
    EXPECT_EQ(made.status().code(), Code::InvalidArgument) << schema;
    EXPECT_THAT(made.status().message(), HasSubstr(message)) << schema;
    EXPECT_EQ(made.status().message().find('\n'), std::string::npos);
  }
}

TEST(JsonSchema, WhatWouldBeTooLargeIsRefused) {
  std::string nested = R"({"type":"string"})";
  for (int i = 0; i < 25; ++i) nested = R"({"type":"array","items":)" + nested + "}";
  EXPECT_TRUE(Constraint::json_schema(nested).ok());  // grows with the depth, no faster
  for (
      const char* schema :
      {R"({"type":"string","maxLength":1000000})",
       R"({"type":"array","items":{"type":"array","items":true,"maxItems":100},"maxItems":100})"}) {
    EXPECT_EQ(Constraint::json_schema(schema).status().code(), Code::ResourceExhausted) << schema;
  }
  std::string deep = R"({"type":"null"})";
  for (int i = 0; i < 40; ++i) deep = R"({"anyOf":[)" + deep + "]}";
  EXPECT_FALSE(Constraint::json_schema(deep).ok());
}

TEST(JsonSchema, JsonObjectIsAnyObject) {
  const auto made = Constraint::json_object();
  ASSERT_TRUE(made.ok()) << made.status().message();
  const ByteDfa& dfa = (*made)->automaton();
  const auto ok = [&](std::string_view text) {
    const auto state = dfa.walk(ByteDfa::kStart, text);
    return state != ByteDfa::kDead && dfa.accepts(state);
  };
  EXPECT_TRUE(ok(R"({"a": [1, {"b": null}], "c": {"d": -1.5e3}})"));
  EXPECT_TRUE(ok("{}"));
  for (const char* text : {"[]", "1", "", "{\"a\":}", "{\"a\":1,}", "{} "}) EXPECT_FALSE(ok(text));
}

}  // namespace
}  // namespace sluice
