#include "inference/batch/batch_job.h"

#include "inference/engine/engine_support.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

class BatchJob : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.input = folder_ / "in.jsonl";
    options_.output = folder_ / "out.jsonl";
    options_.sampling.n = 2;
    options_.sampling.max_tokens = 5;
    options_.seed = 3;
    std::ofstream in(options_.input);
    for (int i = 0; i < 7; ++i) {
      Json line;
      line["ids"] = prompt(3 + i, static_cast<uint64_t>(i));
      in << line.dump() << "\n" << (i == 2 ? "\n" : "");
    }
  }

  Result<BatchProgress> run() {
    Runner runner(model(), exact_options());
    const EncodePrompt encode = [](const Json& line) -> Result<std::vector<int64_t>> {
      if (!line.contains("ids")) return invalid_argument("no ids");
      return line["ids"].get<std::vector<int64_t>>();
    };
    auto out = run_batch(runner.engine(), options_, encode);
    EXPECT_TRUE(runner.engine().check().ok());
    return out;
  }

  std::string output() const {
    std::ifstream file(options_.output);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(path) << text;
  }

  std::filesystem::path folder_;
  BatchOptions options_;
};

TEST_F(BatchJob, WritesEverySampleInOrder) {
  options_.ahead = 3;
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->done, 7);
  EXPECT_EQ(done->tokens, 7 * 2 * 5);
  std::istringstream lines(output());
  std::string line;
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    const Json json = Json::parse(line);
    EXPECT_EQ(json["index"], i / 2);
    EXPECT_EQ(json["sample"], i % 2);
    EXPECT_EQ(json["token_ids"].size(), 5U);
    EXPECT_EQ(json["logprobs"].size(), 5U);
    EXPECT_EQ(json["finish_reason"], "length");
    EXPECT_EQ(json["versions"], Json::parse(R"([[0, "v1.1-00000000"]])"));
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(BatchJob, GoesOnBehindACutAndWritesTheSame) {
  ASSERT_TRUE(run().ok());
  const std::string whole = output();
  // Cut at a line, in a line, between the samples of a prompt, at the start and at the end.
  for (const size_t keep : {size_t{0}, size_t{10}, whole.find('\n') + 1, whole.size() / 2,
                            whole.size() - 1, whole.size()}) {
    write(options_.output, whole.substr(0, keep));
    const auto done = run();
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(output(), whole) << keep;
    EXPECT_EQ(done->tokens, (7 - done->earlier) * 10);
  }
}

TEST_F(BatchJob, OutputOfAnotherRunIsLeftAlone) {
  ASSERT_TRUE(run().ok());
  const std::string before = output();
  options_.sampling.n = 3;
  EXPECT_THAT(run().status().message(), HasSubstr("line 3 is not sample 2 of prompt 0"));
  EXPECT_EQ(output(), before);
  options_.sampling.n = 2;
  write(options_.input, "{\"ids\": [1]}\n");
  EXPECT_THAT(run().status().message(), HasSubstr("has 7 prompts"));
  EXPECT_EQ(output(), before);
}

TEST_F(BatchJob, BadLinesAreNamedAndBadPromptsAreWritten) {
  write(options_.input, "{\"ids\": [5]}\n\n[1]\n");
  EXPECT_THAT(run().status().message(), HasSubstr("in.jsonl:3: not a JSON object"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  write(options_.input, "{\"ids\": [5]}\n{\"x\": 1}\n{\"ids\": [99]}\n{\"ids\": [6]}\n");
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->failed, 2);
  EXPECT_THAT(output(), HasSubstr(R"("index":1,"sample":1,"text":"","token_ids":[],)"
                                  R"("logprobs":[],"finish_reason":"failed","versions":[],)"
                                  R"("error":"no ids"})"));
  EXPECT_THAT(output(), HasSubstr("token 99 is outside the vocabulary of 64"));
  EXPECT_THAT(output(), HasSubstr(R"("index":3,"sample":1)"));
}

TEST_F(BatchJob, FilesThatAreNoOutputAreLeftAlone) {
  for (const std::string other :
       {"notes without an end of line", "{\"index\": \"x\"}\n", "{\"index\": 0}\n", "\n",
        "{\"index\":0,\"sample\":1,\"text\":", "[0, 0]\n", "\xff\xfe"}) {
    write(options_.output, other);
    EXPECT_THAT(run().status().message(), HasSubstr("line 1 is not sample 0 of prompt 0")) << other;
    EXPECT_EQ(output(), other);
  }
}

TEST_F(BatchJob, OneRunWritesToAnOutput) {
  std::string second;
  Runner outer(model(), exact_options());
  const EncodePrompt encode = [&](const Json& line) -> Result<std::vector<int64_t>> {
    if (second.empty()) second = run().status().message();  // while the first is under way
    return line["ids"].get<std::vector<int64_t>>();
  };
  ASSERT_TRUE(run_batch(outer.engine(), options_, encode).ok());
  EXPECT_THAT(second, HasSubstr("another run writes to it"));
  EXPECT_EQ(run()->earlier, 7) << "whole, and free again";
}

TEST_F(BatchJob, ParametersThatFailEveryPromptFailTheJob) {
  options_.sampling.top_p = 1.5F;
  EXPECT_THAT(run().status().message(), HasSubstr("top_p"));
  options_.sampling.top_p = 1;
  options_.sampling.n = 1000;
  EXPECT_THAT(run().status().message(), HasSubstr("1000 samples"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(BatchJob, AFullDiskEndsItAndTheRestFollowsLater) {
  Runner runner(model(), exact_options());
  const EncodePrompt encode = [](const Json& line) -> Result<std::vector<int64_t>> {
    return line["ids"].get<std::vector<int64_t>>();
  };
  BatchOptions full = options_;
  full.output = "/dev/full";
  const auto status = run_batch(runner.engine(), full, encode).status();
  EXPECT_EQ(status.code(), Code::ResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("/dev/full: No space left on device"));
  EXPECT_TRUE(runner.engine().check().ok()) << "every block is free";
  EXPECT_FALSE(runner.engine().busy());
  EXPECT_TRUE(run_batch(runner.engine(), options_, encode).ok());
}

TEST_F(BatchJob, PrunedSamplesEndEarlyAndTheSameWhateverTheBatch) {
  options_.sampling.n = 4;
  options_.sampling.max_tokens = 20;
  options_.sampling.temperature = 0.02F;  // many of them begin alike
  options_.prune.after = 6;
  options_.prune.similarity = 0.9;
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_GT(done->pruned, 0);
  EXPECT_LT(done->tokens, 7 * 4 * 20);
  const std::string together = output();
  int64_t pruned = 0;
  std::istringstream lines(together);
  std::vector<Json> prompt;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json["sample"] == 0) prompt.clear();
    prompt.push_back(json);
    if (json["finish_reason"] != "pruned") {
      EXPECT_EQ(json["token_ids"].size(), 20U);
      EXPECT_FALSE(json.contains("like"));
      continue;
    }
    ++pruned;
    EXPECT_EQ(json["token_ids"].size(), 6U);
    EXPECT_EQ(json["logprobs"].size(), 6U);
    const Json& other = prompt.at(json["like"].get<size_t>());
    EXPECT_EQ(other["finish_reason"], "length") << "the first of its cluster goes on";
    EXPECT_LT(other["sample"], json["sample"]);
  }
  EXPECT_EQ(pruned, done->pruned);
  // One prompt after the other.
  options_.ahead = 1;
  std::filesystem::remove(options_.output);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(output(), together);
  // And behind a cut.
  write(options_.output, together.substr(0, together.size() / 2));
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(output(), together);
  options_.prune.similarity = 2;
  EXPECT_THAT(run().status().message(), HasSubstr("similarity"));
}

}  // namespace
}  // namespace sluice
