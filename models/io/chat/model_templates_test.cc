#include "models/io/chat/model_templates.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string rendered(const Result<ChatTemplate>& chat) {
  if (!chat.ok()) return chat.status().message();
  return chat->render(nlohmann::ordered_json::array())->text;
}

class Folder : public ::testing::Test {
 protected:
  Folder() { fs::create_directories(path_); }
  ~Folder() override { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  const fs::path path_ = fs::path(::testing::TempDir()) /
                         ("sluice_templates_" + std::to_string(::getpid()) + "_" +
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(ModelTemplates, OneStringIsTheDefault) {
  const auto model = ModelTemplates::from_config({{"chat_template", "one"},
                                                  {"bos_token", "<s>"},
                                                  {"eos_token", {{"content", "</s>"}}},
                                                  {"pad_token", nullptr}});
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(rendered(model->choose(false)), "one");
  EXPECT_EQ(rendered(model->choose(true)), "one");
  EXPECT_EQ(model->special_tokens(),
            (std::map<std::string, std::string>{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
}

TEST(ModelTemplates, NamedTemplatesAreChosenAsTransformersDoes) {
  const auto named = nlohmann::json::parse(
      R"([{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"},
          {"name": "rag", "template": "r"}])");
  const auto model = ModelTemplates::from_config({{"chat_template", named}});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(rendered(model->choose(false)), "d");
  EXPECT_EQ(rendered(model->choose(true)), "t");
  ASSERT_NE(model->find("rag"), nullptr);
  EXPECT_EQ(rendered(*model->find("rag")), "r");
  EXPECT_EQ(model->find("nope"), nullptr);
}

TEST(ModelTemplates, FileWinsOverTheConfig) {
  const auto model = ModelTemplates::from_config({{"chat_template", "old"}}, "new");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(rendered(model->choose(false)), "new");
}

TEST(ModelTemplates, WrongConfigsSayWhatIsWrong) {
  const auto problem = [](const nlohmann::json& config) {
    return ModelTemplates::from_config(config).status().message();
  };
  EXPECT_EQ(problem(nlohmann::json::array()), "tokenizer_config: not an object");
  EXPECT_EQ(problem({{"bos_token", 1}}),
            "tokenizer_config: bos_token is neither a string nor a token");
  EXPECT_EQ(problem({{"chat_template", 1}}),
            "tokenizer_config: chat_template is neither a string nor a list");
  EXPECT_EQ(problem({{"chat_template", "\n{{"}}), "chat template line 2: a tag is not closed");
  const auto rag = nlohmann::json::parse(R"([{"name": "rag", "template": "{% x %}"}])");
  EXPECT_EQ(problem({{"chat_template", rag}}),
            "template 'rag': chat template line 1: unknown tag 'x'");
}

TEST(ModelTemplates, WithoutADefaultTheNamesAreListed) {
  const auto rag = nlohmann::json::parse(R"([{"name": "rag", "template": ""}])");
  const auto model = ModelTemplates::from_config({{"chat_template", rag}});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->choose(false).status().message(), "no default chat template; there are: rag");
}

TEST_F(Folder, TemplatesAreFoundInAModelsFolder) {
  write("tokenizer_config.json", R"({"chat_template": "old", "bos_token": "<s>"})");
  write("chat_template.jinja", "file{{ bos_token }}");
  write("additional_chat_templates/tool_use.jinja", "tools");
  const auto model = ModelTemplates::load(path_.string());
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(rendered(model->choose(false)), "file");
  EXPECT_EQ(rendered(model->choose(true)), "tools");
  EXPECT_EQ(model->special_tokens().at("bos_token"), "<s>");
}

TEST_F(Folder, AFileIsATemplate) {
  write("x.jinja", "text");
  EXPECT_EQ(rendered(ModelTemplates::load((path_ / "x.jinja").string())->choose(false)), "text");
}

TEST_F(Folder, FailuresNameThePath) {
  EXPECT_NE(ModelTemplates::load(path_.string()).status().message().find("no chat template"),
            std::string::npos);
  write("tokenizer_config.json", "{");
  EXPECT_NE(ModelTemplates::load(path_.string())
                .status()
                .message()
                .find("tokenizer_config.json: not JSON"),
            std::string::npos);
  EXPECT_FALSE(ModelTemplates::load((path_ / "nope").string()).ok());
}

}  // namespace
}  // namespace sluice
