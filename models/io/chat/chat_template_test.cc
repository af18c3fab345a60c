#include "models/io/chat/chat_template.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

constexpr const char* kChatMl =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ "
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
    "}}{% endif %}";

TEST(ChatTemplate, RendersChatMl) {
  const auto chat = ChatTemplate::parse(kChatMl);
  ASSERT_TRUE(chat.ok()) << chat.status().to_string();
  const auto messages = nlohmann::ordered_json::parse(R"([{"role": "user", "content": "Hi"}])");
  ChatOptions options;
  options.add_generation_prompt = true;
  const auto out = chat->render(messages, options);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace sluice
