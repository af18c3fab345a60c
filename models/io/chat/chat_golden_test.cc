// Byte for byte what transformers renders; the goldens are made by testdata/make_chat_golden.py.
#include "models/io/chat/chat_template.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string read(const std::string& name) {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/models/io/chat/testdata/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::tm golden_time() {
  std::tm now{};
  now.tm_year = 124;
  now.tm_mon = 6;
  now.tm_mday = 26;
  now.tm_hour = 9;
  now.tm_min = 5;
  now.tm_sec = 3;
  now.tm_wday = 5;
  now.tm_yday = 207;
  return now;
}

void expect_rendered(const Json& golden, const Result<RenderedChat>& out) {
  if (golden.contains("error")) {
    ASSERT_FALSE(out.ok()) << "rendered: " << out->text;
    EXPECT_TRUE(out.status().message().starts_with("chat template line "))
        << out.status().message();
    EXPECT_EQ(out.status().message().find('\n'), std::string::npos);
    return;
  }
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->text, golden["text"].get<std::string>());
  std::vector<GeneratedSpan> spans;
  for (const auto& span : golden.value("spans", Json::array())) {
    spans.push_back({span[0].get<size_t>(), span[1].get<size_t>()});
  }
  EXPECT_EQ(out->generated, spans);
}

TEST(ChatGolden, TemplatesOfModelFamiliesRenderAsInTransformers) {
  const Json golden = Json::parse(read("chat_golden.json"));
  std::map<std::string, ChatTemplate> templates;
  ChatOptions shared;
  shared.special_tokens = golden["tokens"].get<std::map<std::string, std::string>>();
  shared.now = golden_time;
  for (const Json& one : golden["cases"]) {
    const auto name = one["template"].get<std::string>();
    const auto conversation = one["conversation"].get<std::string>();
    SCOPED_TRACE(name + " x " + conversation);
    if (!templates.contains(name)) {
      auto parsed = ChatTemplate::parse(read("templates/" + name + ".jinja"));
      ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
      templates.emplace(name, *std::move(parsed));
    }
    ChatOptions options = shared;
    options.add_generation_prompt = one["prompt"].get<bool>();
    if (one.contains("tools")) options.tools = &one["tools"];
    if (one.contains("variables")) options.variables = &one["variables"];
    expect_rendered(one, templates.at(name).render(golden["conversations"][conversation], options));
  }
  EXPECT_GE(templates.size(), 13u);
}

TEST(ChatGolden, ContinuedMessagesEndAsInTransformers) {
  const Json golden = Json::parse(read("continued_golden.json"));
  ChatOptions options;
  options.special_tokens = golden["tokens"].get<std::map<std::string, std::string>>();
  options.now = golden_time;
  options.continue_final_message = true;
  size_t rendered = 0;
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["template"].get<std::string>() + " " + one["messages"].dump());
    const auto chat =
        ChatTemplate::parse(read("templates/" + one["template"].get<std::string>() + ".jinja"));
    ASSERT_TRUE(chat.ok()) << chat.status().to_string();
    const auto out = chat->render(one["messages"], options);
    ASSERT_EQ(out.ok(), !one.contains("error")) << (out.ok() ? out->text : out.status().message());
    if (!out.ok()) continue;
    EXPECT_EQ(out->text, one["text"].get<std::string>());
    ++rendered;
  }
  EXPECT_GT(rendered, 50u);
}

TEST(ChatGolden, SnippetsGiveWhatJinjaGives) {
  const Json golden = Json::parse(read("snippet_golden.json"));
  ChatOptions options;
  options.special_tokens = golden["tokens"].get<std::map<std::string, std::string>>();
  options.variables = &golden["variables"];
  options.now = golden_time;
  for (const Json& one : golden["cases"]) {
    const auto source = one["source"].get<std::string>();
    SCOPED_TRACE(source);
    const auto parsed = ChatTemplate::parse(source);
    expect_rendered(one, parsed.ok() ? parsed->render(Json::array(), options) : parsed.status());
  }
}

}  // namespace
}  // namespace sluice
