// What "response_format" and its relatives make of the answers.
#include "inference/sampler/constraint/schema_check.h"
#include "inference/server/server_support.h"

#include <gmock/gmock.h>

#include <regex>

namespace sluice::server_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json& person() {
  static const json schema = json::parse(
      R"({"type":"object","title":"Person","properties":{"name":{"type":"string","maxLength":8},
          "age":{"type":"integer","minimum":0,"maximum":130}},
          "required":["name","age"],"additionalProperties":false})");
  return schema;
}

json of_schema(const json& schema) {
  return {{"type", "json_schema"},
          {"json_schema", {{"name", "person"}, {"strict", true}, {"schema", schema}}}};
}

json drawn(const json& more) {
  json base{{"temperature", 1}, {"seed", 3}, {"n", 6}, {"max_tokens", 300}, {"ignore_eos", false}};
  base.update(more);
  return base;
}

void expect_persons(const json& body, const std::function<std::string(const json&)>& text) {
  ASSERT_EQ(body["choices"].size(), 6U) << body;
  for (const json& choice : body["choices"]) {
    EXPECT_EQ(choice["finish_reason"], "stop");
    const json value = json::parse(text(choice), nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << choice;
    EXPECT_EQ(schema_fault(value, person(), person()), "") << choice;
  }
}

TEST(ResponseFormat, EveryAnswerSatisfiesTheSchema) {
  TestServer server;
  expect_persons(
      server.post("/v1/completions", completion(drawn({{"response_format", of_schema(person())}})))
          .json(),
      [](const json& choice) { return choice["text"].get<std::string>(); });
  expect_persons(
      server.post("/v1/chat/completions", chat(drawn({{"response_format", of_schema(person())}})))
          .json(),
      [](const json& choice) { return choice["message"]["content"].get<std::string>(); });
}

TEST(ResponseFormat, PropertiesComeInTheOrderOfTheBody) {
  TestServer server;
  const std::string schema =
      R"({"type":"object","properties":{"z":{"const":1},"a":{"const":2}},"required":["z","a"]})";
  const std::string body =
      R"({"prompt":"x","max_tokens":60,"guided_json":)" + schema + R"(,"temperature":0})";
  const json answer = server.post_text("/v1/completions", body).json();
  EXPECT_THAT(answer["choices"][0]["text"].get<std::string>(),
              ::testing::MatchesRegex("\\{\"z\": ?1, ?\"a\": ?2\\}"));
  json as_text = completion({{"guided_json", schema}, {"max_tokens", 60}});
  EXPECT_EQ(server.post("/v1/completions", as_text).json()["choices"][0]["text"],
            answer["choices"][0]["text"]);
}

TEST(ResponseFormat, StreamsTheSameText) {
  TestServer server;
  json body = completion(drawn({{"response_format", of_schema(person())}, {"logprobs", 2}}));
  const json whole = server.post("/v1/completions", body).json();
  body["stream"] = true;
  std::vector<std::string> texts(6);
  for (const json& event : server.post("/v1/completions", body).events()) {
    for (const json& choice : event["choices"]) {
      texts[choice["index"].get<size_t>()] += choice["text"].get<std::string>();
    }
  }
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(texts[i], whole["choices"][i]["text"]);
}

TEST(ResponseFormat, RegexChoiceAndObject) {
  TestServer server;
  const auto texts = [&](const json& more) {
    std::vector<std::string> all;
    const Answer answer = server.post("/v1/completions", completion(drawn(more)));
    EXPECT_EQ(answer.status, 200) << answer.text;
    const json body = answer.json();
    for (const json& choice : body["choices"]) all.push_back(choice["text"]);
    EXPECT_EQ(all.size(), 6U);
    return all;
  };
  const std::regex date("[0-9]{4}-[01][0-9]");
  for (const json& more : {json{{"guided_regex", "[0-9]{4}-[01][0-9]"}},
                           json{{"structured_outputs", {{"regex", "[0-9]{4}-[01][0-9]"}}}}}) {
    for (const std::string& text : texts(more)) EXPECT_TRUE(std::regex_match(text, date)) << text;
  }
  for (const json& more : {json{{"guided_choice", {"yes", "no"}}},
                           json{{"structured_outputs", {{"choice", {"yes", "no"}}}}}}) {
    for (const std::string& text : texts(more)) EXPECT_TRUE(text == "yes" || text == "no") << text;
  }
  for (const std::string& text : texts({{"response_format", {{"type", "json_object"}}}})) {
    EXPECT_EQ(text.substr(0, 1), "{");
  }
  texts({{"response_format", {{"type", "text"}}}});
}

struct BadFormat {
  const char* what;
  json change;
  const char* message;
};

void PrintTo(const BadFormat& bad, std::ostream* out) { *out << bad.what; }

class BadFormats : public ::testing::TestWithParam<BadFormat> {};

TEST_P(BadFormats, AreRefusedInOneLineThatNamesTheFault) {
  TestServer server;
  const Answer answer = server.post("/v1/completions", completion(GetParam().change));
  EXPECT_EQ(answer.status, 400) << answer.text;
  EXPECT_THAT(answer.error(), HasSubstr(GetParam().message));
  EXPECT_EQ(answer.error().find('\n'), std::string::npos);
  EXPECT_EQ(server.post("/v1/completions", completion()).status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    ResponseFormat, BadFormats,
    ::testing::Values(
        BadFormat{"not_an_object", {{"response_format", "json"}}, "an object with a 'type'"},
        BadFormat{"type",
                  {{"response_format", {{"type", "yaml"}}}},
                  "'response_format' of type 'yaml' is not supported"},
        BadFormat{"unknown",
                  {{"response_format", {{"type", "text"}, {"schema", 1}}}},
                  "response_format.schema"},
        BadFormat{"no_schema",
                  {{"response_format", {{"type", "json_schema"}}}},
                  "'response_format.json_schema' must be an object"},
        BadFormat{
            "empty_schema",
            {{"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "x"}}}}}},
            "has no 'schema'"},
        BadFormat{
            "keyword",
            {{"response_format", of_schema({{"type", "array"}, {"items", {{"type", "date"}}}})}},
            "'response_format.json_schema.schema': json schema: #/items: unknown type"},
        BadFormat{"strict",
                  {{"response_format",
                    {{"type", "json_schema"},
                     {"json_schema", {{"strict", "yes"}, {"schema", {{"type", "null"}}}}}}}},
                  "strict"},
        BadFormat{"regex", {{"guided_regex", "(a"}}, "'guided_regex': "},
        BadFormat{"too_complicated", {{"guided_regex", "(.{1,5000}x){30}"}}, "'guided_regex': "},
        BadFormat{"regex_type", {{"guided_regex", 5}}, "'guided_regex' must be a string"},
        BadFormat{"choice", {{"guided_choice", {"a", 1}}}, "must be a list of strings"},
        BadFormat{"no_choice", {{"guided_choice", json::array()}}, "must be a list of strings"},
        BadFormat{"text_schema", {{"guided_json", "{"}}, "'guided_json': json schema"},
        BadFormat{"two",
                  {{"guided_regex", "a"}, {"guided_choice", json::array({"a"})}},
                  "'guided_regex' and 'guided_choice' cannot both be given"},
        BadFormat{"two_inside",
                  {{"structured_outputs", {{"regex", "a"}, {"choice", json::array({"a"})}}}},
                  "one of json, json_object, regex and choice"},
        BadFormat{"grammar",
                  {{"structured_outputs", {{"grammar", "root ::= \"a\""}}}},
                  "structured_outputs.grammar"},
        BadFormat{"guided_grammar", {{"guided_grammar", "x"}}, "guided_grammar"}),
    [](const auto& info) { return info.param.what; });

}  // namespace
}  // namespace sluice::server_support
