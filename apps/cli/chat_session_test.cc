#include "apps/cli/chat_session.h"

#include <gmock/gmock.h>

#include <optional>

namespace sluice {
namespace {

using ::testing::HasSubstr;

class Chat : public ::testing::Test {
 protected:
  Chat() {
    auto loaded = TextModel::load(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama",
                                  {.threads = 1, .kv_mib = 8});
    SLUICE_CHECK(loaded.ok()) << loaded.status().message();
    model_.emplace(*std::move(loaded));
    SamplingParams sampling;
    sampling.temperature = 0;
    sampling.max_tokens = 12;
    sampling.ignore_eos = true;
    session_.emplace(
        *model_, sampling, [this](const std::string& text) { printed_ += text; },
        [this] { return interrupt_ && printed_.size() > 0; });
  }

  std::optional<TextModel> model_;
  std::optional<ChatSession> session_;
  std::string printed_;
  bool interrupt_ = false;
};

TEST_F(Chat, AnswersAreShownAndRemembered) {
  EXPECT_TRUE(session_->take("the cat"));
  ASSERT_EQ(session_->messages().size(), 2U);
  EXPECT_EQ(session_->messages()[1]["role"], "assistant");
  EXPECT_EQ(session_->messages()[1]["content"].get<std::string>() + "\n", printed_);
  EXPECT_TRUE(session_->take("sat"));
  EXPECT_EQ(session_->messages().size(), 4U);
}

TEST_F(Chat, ResetForgetsButForTheInstructions) {
  session_->take("/system on the mat");
  session_->take("the cat");
  EXPECT_EQ(session_->messages().size(), 3U);
  session_->take("/reset");
  ASSERT_EQ(session_->messages().size(), 1U);
  EXPECT_EQ(session_->messages()[0]["content"], "on the mat");
  session_->take("/system");
  EXPECT_TRUE(session_->messages().empty());
}

TEST_F(Chat, AnInterruptedAnswerIsKeptAsFarAsItCame) {
  interrupt_ = true;
  session_->take("the cat");
  ASSERT_EQ(session_->messages().size(), 2U);
  const std::string part = session_->messages()[1]["content"];
  interrupt_ = false;
  session_->take("/reset");
  session_->take("the cat");
  const std::string whole = session_->messages()[1]["content"];
  EXPECT_LT(part.size(), whole.size());
  EXPECT_FALSE(model_->engine->busy());
  EXPECT_TRUE(model_->engine->check().ok());
}

TEST_F(Chat, WhatIsTooLongIsTakenBack) {
  session_->take(std::string(2000, 'x'));
  EXPECT_TRUE(session_->messages().empty());
  EXPECT_THAT(printed_, HasSubstr("error: "));
  EXPECT_TRUE(session_->take("the cat"));
  EXPECT_EQ(session_->messages().size(), 2U);
}

TEST_F(Chat, KnowsItsCommands) {
  EXPECT_TRUE(session_->take("/nothing"));
  EXPECT_THAT(printed_, HasSubstr("no command /nothing"));
  EXPECT_TRUE(session_->take(""));
  EXPECT_FALSE(session_->take("/quit"));
}

}  // namespace
}  // namespace sluice
