#include "workers/llm/prompt_source.h"

#include "workers/llm/llm_bench.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <set>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::LlmBench;
using testing::settle;
using testing::settle_well;

PromptSource spec() {
  PromptSource s;
  s.model = fmt::format("{}/models/io/testdata/tiny_llama", SLUICE_SOURCE_DIR);
  return s;
}

class PromptSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bench_.prompts.policy.capacity = 16;
    reader_.emplace(bench_.prompt_reader());
  }
  std::unique_ptr<Worker> make(const PromptSource& s) {
    auto context = bench_.context({{Verb::Writes, "prompts"}});
    auto made = s.make(context);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  std::vector<Prompt> read(Worker& worker, int64_t n) {
    std::vector<Prompt> out;
    for (int64_t i = 0; i < n; ++i) {
      settle_well(worker);
      auto items = reader_->try_take(1);
      if (!items.ok() || items->empty()) break;
      out.push_back(*items->front().value);
    }
    return out;
  }

  LlmBench bench_;
  std::optional<StreamReader<Prompt>> reader_;
};

TEST_F(PromptSourceTest, AsksEveryProblemOnceAnEpochInAnotherOrderEach) {
  auto worker = make(spec());
  const int64_t size = (*spec().task.make())->size(Split::Train);
  ASSERT_GT(size, 0);
  std::vector<std::vector<int64_t>> orders(2);
  int64_t number = 0;
  for (auto& order : orders) {
    std::set<int64_t> seen;
    for (const Prompt& prompt : read(*worker, size)) {
      EXPECT_EQ(prompt.number, number++);
      EXPECT_FALSE(prompt.tokens.empty());
      order.push_back(prompt.problem);
      seen.insert(prompt.problem);
    }
    EXPECT_EQ(std::ssize(seen), size);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_GE(bench_.metric("sluice_prompts_total"), 2 * static_cast<double>(size));
}

TEST_F(PromptSourceTest, AfterAResumeItWritesTheSamePromptsAgainUnderTheSameNumbers) {
  PromptSource s = spec();
  s.rewind = 5;
  auto worker = make(s);
  const auto before = read(*worker, 40);
  Snapshot state;
  ASSERT_TRUE(worker->save(state).ok());
  worker.reset();
  while (!reader_->try_take(1)->empty()) {
  }
  worker = make(s);
  ASSERT_TRUE(worker->load(state).ok());
  const auto after = read(*worker, 3);
  ASSERT_EQ(after.size(), 3U);
  // 40 were read; 15 in the stream and one in hand were ahead of the reader.
  EXPECT_EQ(after[0].number, 40 + 15 + 1 - 5);
  auto again = make([&] {
    PromptSource from_start = s;
    from_start.rewind = 1000;
    return from_start;
  }());
  ASSERT_TRUE(again->load(state).ok());
  worker.reset();
  while (!reader_->try_take(1)->empty()) {
  }
  const auto all = read(*again, 40);
  ASSERT_EQ(all.size(), before.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, before[i].number);
    EXPECT_EQ(all[i].problem, before[i].problem);
    EXPECT_EQ(all[i].tokens, before[i].tokens);
  }
}

TEST_F(PromptSourceTest, APromptThatIsTooLongEndsTheRunOrIsCounted) {
  PromptSource s = spec();
  s.max_prompt = 3;
  auto worker = make(s);
  const auto result = settle(*worker);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("more than max_prompt = 3"));
  s.too_long = TooLong::Drop;
  s.epochs = 1;
  worker = make(s);
  EXPECT_EQ(settle(*worker)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(bench_.metric("sluice_prompts_dropped_total"),
            static_cast<double>((*s.task.make())->size(Split::Train)));
}

TEST_F(PromptSourceTest, AnUnknownTaskOrModelIsToldBeforeTheStart) {
  PromptSource s = spec();
  s.task.name = "arithmetics";
  std::vector<std::string> problems;
  s.check(problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0], HasSubstr("arithmetic"));
  s = spec();
  s.model = "/nowhere";
  problems.clear();
  s.check(problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0], HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace sluice
