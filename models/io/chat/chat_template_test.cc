#include "models/io/chat/chat_template.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Result<RenderedChat> render(const std::string& source, const ChatOptions& options = {},
                            const Json& messages = Json::array()) {
  ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::parse(source));
  return chat.render(messages, options);
}

std::string message(const std::string& source, const ChatOptions& options = {}) {
  const auto out = render(source, options);
  return out.ok() ? "rendered" : out.status().message();
}

TEST(ChatTemplate, FailureNamesTheLineOfTheTemplate) {
  EXPECT_EQ(message("a\n{% if true %}\n{{ nope() }}{% endif %}"),
            "chat template line 3: 'nope' is undefined");
  EXPECT_EQ(message("\n\n{% raise %}"), "chat template line 3: unknown tag 'raise'");
  EXPECT_EQ(message("\n{{ 'a' | nope }}"), "chat template line 2: there is no filter 'nope'");
  EXPECT_EQ(message("{{ 1 +\n\n'a' }}"),
            "chat template line 1: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(message("\n{{ raise_exception('roles must\nalternate') }}"),
            "chat template line 2: roles must\\nalternate");
  EXPECT_EQ(message("{% macro m() %}\n{{ x.y }}{% endmacro %}\n\n{{ m() }}"),
            "chat template line 2: 'x' is undefined");
  EXPECT_EQ(message("\n{# open"), "chat template line 2: a comment is not closed");
  EXPECT_EQ(message("x\n{% for a in [1] %}\n"),
            "chat template line 2: expected '{% endfor %}', found the end of the template");
}

TEST(ChatTemplate, TagsThatNeedOtherTemplatesAreRefused) {
  for (const char* const tag : {"include 'x'", "import 'x' as y", "extends 'x'", "block a"}) {
    const std::string text = message("{% " + std::string(tag) + " %}");
    EXPECT_NE(text.find("unknown tag"), std::string::npos) << tag << ": " << text;
  }
  EXPECT_NE(message("{% for x in [] recursive %}{% endfor %}").find("recursive"),
            std::string::npos);
}

// Each would take more memory or time than there is, if it were let.
TEST(ChatTemplate, RunawayTemplatesEndWithAnError) {
  const std::vector<std::string> sources = {
      "{{ 'a' * 10**9 }}",
      "{{ [0] * 10**12 }}",
      "{{ ([[0] * 10**6] * 10**6) | string }}",
      "{{ range(10**9) | list }}",
      "{% set x = 'ab' %}{% for i in range(60) %}{% set ns = 1 %}{% endfor %}"
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% "
      "endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}"
      "{{ ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}"
      "{{ ns.x | tojson }}",
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
      "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
      "{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}{% set ns.x = (ns.x, ns.x) %}{% "
      "endfor %}"
      "{{ {ns.x: 1} }}",
      "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor "
      "%}{{ ns.x }}",
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
      "{% for i in range(99999) %}{{ 'aaaaaaaaaaaaaaaa' * 1000 }}{% endfor %}",
      "{{ 'x'.center(10**12) }}",
      "{{ '%1000000000d' % 1 }}",
      "{{ '{:>1000000000}'.format(1) }}",
      "{{ '%.1000000000f' % 1.5 }}",
      "{{ ('a' * 10**6).replace('', 'b' * 10**6) }}",
      "{{ ('a,' * 10**6).split(',') | join('b' * 10**6) }}",
      "{{ ('a\n' * 10**6) | indent(10**6) }}",
      "{{ [1] | batch(10**12, 0) | list }}",
      "{{ [1] | slice(10**12) | list }}",
      "{{ 2 ** 10**9 }}",
      "{{ 10**9 * 10**9 * 10**9 }}",
      "{{ strftime_now('%999999999d') }}",
      "{{ {'a': [1, 2]} | tojson(indent=10**9) }}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
      "{% set n = namespace(f=[['map']]) %}{{ " + std::string(300, '(') + "1" +
          std::string(300, ')') + " }}",
      "{{ " + std::string(5000, '-') + "1 }}",
      "{{ " + std::string(100000, '[') + " }}",
      "{{ x" +
          [] {
            std::string s;
            for (int i = 0; i < 5000; ++i) s += " + 1";
            return s;
          }() +
          " }}",
      "{{ x" +
          [] {
            std::string s;
            for (int i = 0; i < 5000; ++i) s += "|string";
            return s;
          }() +
          " }}",
      [] {
        std::string s;
        for (int i = 0; i < 5000; ++i) s += "{% if 1 %}";
        return s;
      }(),
  };
  for (const std::string& source : sources) {
    ChatOptions options;
    options.limits.max_steps = 100'000;
    options.limits.max_memory_bytes = 16u << 20;
    options.limits.max_output_bytes = 1u << 20;
    const auto out = render(source, options);
    ASSERT_FALSE(out.ok()) << source.substr(0, 200) << " gave " << out->text.size() << " bytes";
    EXPECT_TRUE(out.status().message().starts_with("chat template line 1: ") ||
                out.status().message().starts_with("chat template line 2: "))
        << out.status().message();
  }
}

// Each would compare 10^10 bytes if searches were quadratic.
TEST(ChatTemplate, AdversarialSearchesAreLinear) {
  const std::string haystack =
      "{% set h = 'a' * 400000 %}{% set n = 'a' * 200000 ~ 'b' %}"
      "{% set m = 'b' ~ 'a' * 200000 %}";
  for (const char* const search :
       {"n in h", "h.find(n)", "h.rfind(m)", "h.split(n) | length", "h.rsplit(m) | length",
        "h.replace(n, '') | length", "h.count(n)", "h.partition(n)[0] | length"}) {
    EXPECT_TRUE(render(haystack + "{{ " + search + " }}").ok()) << search;
  }
}

TEST(ChatTemplate, LimitsAreThoseOfTheOptions) {
  ChatOptions options;
  options.limits.max_output_bytes = 10;
  EXPECT_TRUE(render("0123456789", options).ok());
  const auto longer = render("0123456789{{ 1 }}", options);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.status().code(), Code::ResourceExhausted);
  options = {};
  options.limits.max_steps = 100;
  EXPECT_TRUE(render("{% for i in range(10) %}{{ i }}{% endfor %}", options).ok());
  EXPECT_EQ(render("{% for i in range(100) %}{{ i }}{% endfor %}", options).status().code(),
            Code::ResourceExhausted);
}

TEST(ChatTemplate, AMillionTokensOfConversationAreRendered) {
  Json messages = Json::array();
  const std::string content(100, 'x');
  for (int i = 0; i < 40'000; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", content}});
  }
  const auto out =
      render("{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim }}{% endfor %}", {},
             messages);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_GT(out->text.size(), 4'000'000u);
}

TEST(ChatTemplate, MessagesMustBeAListOfObjects) {
  EXPECT_EQ(render("", {}, Json::object()).status().message(),
            "chat template line 1: the messages are not a list");
  EXPECT_EQ(render("", {}, Json::array({1})).status().message(),
            "chat template line 1: message 0 is not an object");
  Json deep = 1;
  for (int i = 0; i < 150; ++i) deep = Json::array({deep});
  EXPECT_FALSE(render("", {}, Json::array({{{"content", deep}}})).ok());
}

TEST(ChatTemplate, InvalidUtf8InTheTemplateIsRefusedAndInMessagesIsKept) {
  EXPECT_EQ(message("ok\n\xFF"), "chat template line 2: the text is not valid UTF-8");
  const Json messages = Json::array({{{"role", "user"}, {"content", " a\xFF\xC3 "}}});
  const auto out =
      render("{{ messages[0].content | trim | length }}{{ messages[0].content }}", {}, messages);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->text, "3 a\xFF\xC3 ");
}

TEST(ChatTemplate, DateIsTheInjectedOne) {
  ChatOptions options;
  options.now = [] {
    std::tm now{};
    now.tm_year = 125;
    now.tm_mday = 1;
    return now;
  };
  const auto out = render("{{ strftime_now('%d %b %Y') }}", options);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->text, "01 Jan 2025");
}

TEST(ChatTemplate, GeneratedSpansAreBytesOfTheText) {
  const auto out = render("\xC3\xA9[{% generation %}\xC3\xA4{{ 1 }}{% endgeneration %}]");
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out->generated.size(), 1u);
  EXPECT_EQ(
      out->text.substr(out->generated[0].begin, out->generated[0].end - out->generated[0].begin),
      "\xC3\xA4"
      "1");
}

TEST(ChatTemplate, GeneratedSpansOutsideTheTextAreRefused) {
  EXPECT_EQ(message("{% set x %}{% generation %}abc{% endgeneration %}{% endset %}"),
            "chat template line 1: the text of a generation block is not written where the block "
            "stands");
}

TEST(ChatTemplate, RangesHoldNoNumberOfMoreThan64Bits) {
  EXPECT_EQ(render("{{ 2.0 in range(3) }} {{ 2.5 in range(3) }} {{ 1e300 in range(3) }} "
                   "{{ -1e300 in range(3) }} {{ (1e300 * 1e300) in range(3) }}")
                ->text,
            "True False False False False");
}

TEST(ChatTemplate, AContinuedMessageEndsTheTextAndItsSpan) {
  const auto chat = ChatTemplate::parse(
      "{% for m in messages %}<{% generation %}{{ m.content }}!{% endgeneration %}>{% endfor %}");
  ASSERT_TRUE(chat.ok());
  ChatOptions options;
  options.continue_final_message = true;
  const Json messages = {{{"role", "user"}, {"content", "a"}},
                         {{"role", "assistant"}, {"content", "b "}}};
  const auto out = chat->render(messages, options);
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ(out->text, "<a!><b ");
  EXPECT_EQ(out->generated, (std::vector<GeneratedSpan>{{1, 3}, {5, 7}}));
  EXPECT_FALSE(chat->render(Json::array(), options).ok());
  EXPECT_FALSE(ChatTemplate::parse("fixed")->render(messages, options).ok());
  options.add_generation_prompt = true;
  EXPECT_EQ(chat->render(messages, options).status().code(), Code::InvalidArgument);
}

TEST(ChatTemplate, VariablesWinOverSpecialTokens) {
  ChatOptions options;
  options.special_tokens = {{"bos_token", "<s>"}};
  const Json variables = {{"bos_token", "<bos>"}};
  EXPECT_EQ(render("{{ bos_token }}", options)->text, "<s>");
  options.variables = &variables;
  EXPECT_EQ(render("{{ bos_token }}", options)->text, "<bos>");
}

TEST(ChatTemplate, OneTemplateServesThreads) {
  const auto chat =
      ChatTemplate::parse("{% for m in messages %}{{ m.content | upper }}{% endfor %}");
  ASSERT_TRUE(chat.ok());
  std::vector<std::string> texts(4);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < texts.size(); ++i) {
      threads.emplace_back([&, i] {
        const Json messages = Json::array({{{"content", "t" + std::to_string(i)}}});
        for (int turn = 0; turn < 50; ++turn) texts[i] = chat->render(messages)->text;
      });
    }
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"T0", "T1", "T2", "T3"}));
}

}  // namespace
}  // namespace sluice
