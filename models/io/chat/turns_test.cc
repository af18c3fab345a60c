#include "models/io/chat/turns.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

ChatTemplate family(const std::string& name) {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/models/io/chat/testdata/templates/" + name +
                     ".jinja");
  std::ostringstream text;
  text << file.rdbuf();
  auto chat = ChatTemplate::parse(text.str());
  EXPECT_TRUE(chat.ok());
  return *std::move(chat);
}

const Json& thinking_turns() {
  static const Json kMessages = Json::parse(R"([
    {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": "<think>\neasy\n</think>\n\n4"},
    {"role": "user", "content": "and 3+3?"},
    {"role": "assistant", "content": "<think>\nsame\n</think>\n\n6"}])");
  return kMessages;
}

TEST(Turns, ExtensionIsAPrefix) {
  EXPECT_TRUE(is_extension("", "a"));
  EXPECT_TRUE(is_extension("ab", "abc"));
  EXPECT_TRUE(is_extension("ab", "ab"));
  EXPECT_FALSE(is_extension("abc", "ab"));
  EXPECT_FALSE(is_extension("ab", "ac"));
}

TEST(Turns, CommonBytesEndBetweenCharacters) {
  EXPECT_EQ(compare_turns("ab", "ac").common_bytes, 1u);
  EXPECT_EQ(compare_turns("\xC3\xA4", "\xC3\xA9").common_bytes, 0u);
  EXPECT_EQ(compare_turns("abc", "ab").common_bytes, 2u);
}

TEST(Turns, Qwen3DropsEarlierReasoningSoItsTurnsDoNotExtend) {
  const auto turns = turn_extensions(family("qwen3"), thinking_turns(), {});
  ASSERT_TRUE(turns.ok()) << turns.status().to_string();
  ASSERT_EQ(turns->size(), 1u);
  EXPECT_FALSE((*turns)[0].extends);
  const std::string common = "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ((*turns)[0].common_bytes, common.size());
}

TEST(Turns, Qwen25KeepsEveryTurn) {
  const auto turns = turn_extensions(family("qwen2.5"), thinking_turns(), {});
  ASSERT_TRUE(turns.ok());
  ASSERT_EQ(turns->size(), 1u);
  EXPECT_TRUE((*turns)[0].extends);
}

TEST(Turns, ExactlyOneBeginToken) {
  ChatOptions options;
  options.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  for (const char* const name : {"llama-3", "llama-3.1", "llama-3.2", "mistral-v0.1",
                                 "mistral-v0.3", "gemma-2", "deepseek-r1-distill"}) {
    const auto out = family(name).render(thinking_turns(), options);
    ASSERT_TRUE(out.ok()) << name << ": " << out.status().to_string();
    EXPECT_TRUE(out->text.starts_with("<s>")) << name;
    EXPECT_EQ(out->text.find("<s>", 1), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace sluice
