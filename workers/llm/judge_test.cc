#include "workers/llm/judge.h"

#include "workers/llm/llm_bench.h"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

namespace sluice {
namespace {

using testing::LlmBench;
using testing::settle_well;

/// Judges as the answer says.
class FickleTask final : public TextTask {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "fickle"; }
  [[nodiscard]] int64_t size(Split /*split*/) const noexcept override { return 10; }
  [[nodiscard]] Result<TextProblem> problem(Split split, int64_t index) const override {
    RETURN_IF_ERROR(check_index(*this, split, index));
    TextProblem problem;
    problem.id = index;
    problem.answer = split == Split::Eval ? "held out" : "train";
    return problem;
  }
  [[nodiscard]] TextScore score(const TextProblem& problem,
                                std::string_view response) const override {
    if (response == "throw") throw std::runtime_error("no");
    if (response == "nan") return {std::numeric_limits<double>::quiet_NaN(), {}, false, ""};
    return {response == problem.answer ? 1.0 : 0.0, {{"exact", 0.5, 2}}, false, ""};
  }
};

std::vector<Score> judged(LlmBench& bench, JudgeRequest request) {
  auto client = bench.judge_client();
  auto context = bench.context({{Verb::Serves, "judge"}});
  auto server = context.server<JudgeRequest, Scores>();
  EXPECT_TRUE(server.ok());
  JudgeWorker worker(std::make_unique<FickleTask>(), context, *std::move(server));
  auto call = std::make_unique<Exchange<JudgeRequest, Scores>>();
  call->request = std::move(request);
  EXPECT_TRUE(client.try_ask(call));
  settle_well(worker);
  auto answer = client.try_collect();
  EXPECT_TRUE(answer && answer->status.ok());
  return answer ? answer->response.scores : std::vector<Score>{};
}

TEST(JudgeWorker, GivesEveryAnswerItsRewardAndItsParts) {
  LlmBench bench;
  const auto scores = judged(bench, {3, false, {"train", "held out"}});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].reward, 1);
  EXPECT_EQ(scores[1].reward, 0);
  EXPECT_EQ(scores[0].parts, (std::vector<std::pair<std::string, double>>{{"exact", 0.5}}));
}

TEST(JudgeWorker, HeldOutProblemsAreThoseOfTheOtherSplit) {
  LlmBench bench;
  EXPECT_EQ(judged(bench, {3, true, {"held out"}})[0].reward, 1);
}

TEST(JudgeWorker, ARewardThatThrowsOrIsNotFiniteFailsThatAnswerAlone) {
  LlmBench bench;
  const auto scores = judged(bench, {0, false, {"throw", "train", "nan"}});
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_TRUE(scores[0].failed);
  EXPECT_EQ(scores[0].why, "no");
  EXPECT_FALSE(scores[1].failed);
  EXPECT_EQ(scores[1].reward, 1);
  EXPECT_TRUE(scores[2].failed);
  EXPECT_EQ(scores[2].why, "the reward is nan");
  EXPECT_EQ(bench.metric("sluice_judge_failures_total"), 2);
  EXPECT_EQ(bench.metric("sluice_judge_answers_total"), 3);
}

TEST(JudgeWorker, AProblemThatIsNotThereFailsAllItsAnswers) {
  LlmBench bench;
  const auto scores = judged(bench, {10, false, {"a", "b"}});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_TRUE(scores[0].failed && scores[1].failed);
}

}  // namespace
}  // namespace sluice
