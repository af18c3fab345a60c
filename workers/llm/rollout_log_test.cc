#include "workers/llm/rollout_log.h"

#include "models/io/load_tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

TEST(RolloutLog, ALineHoldsThePromptTheCompletionsAndWhatTheyAreWorth) {
  const auto tokenizer =
      load_tokenizer(fmt::format("{}/models/io/testdata/tiny_llama", SLUICE_SOURCE_DIR));
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = (*tokenizer)->encode("ab");
  ASSERT_TRUE(ids.ok());
  Group group;
  group.prompt.number = 7;
  group.prompt.problem = 3;
  group.prompt.tokens.assign(ids->begin(), ids->end());
  TokenRollout rollout;
  rollout.tokens = group.prompt.tokens;
  rollout.logprobs.assign(rollout.tokens.size(), -0.5F);
  rollout.versions = {{0, {1, 0, 4, 9}}};
  rollout.text = "a\xff";  // what a model writes need not be UTF-8
  rollout.score = {0.5, {{"exact", 1}}, false, ""};
  group.rollouts = {rollout};
  const auto line = nlohmann::json::parse(rollout_line(group, 5, **tokenizer));
  EXPECT_EQ(line["step"], 5);
  EXPECT_EQ(line["number"], 7);
  EXPECT_EQ(line["problem"], 3);
  EXPECT_EQ(line["prompt"], "ab");
  const auto& completion = line["completions"][0];
  EXPECT_EQ(completion["reward"], 0.5);
  EXPECT_EQ(completion["parts"]["exact"], 1);
  EXPECT_EQ(completion["tokens"].size(), rollout.tokens.size());
  EXPECT_EQ(completion["tokens"][0][1], -0.5);
  EXPECT_EQ(completion["versions"][0], (nlohmann::json{0, 4}));
}

TEST(RolloutLog, WithoutADirectoryNothingIsKept) {
  RolloutLog log("", nullptr);
  log.add(Group{}, 1);  // would fail without a tokenizer
}

}  // namespace
}  // namespace sluice
