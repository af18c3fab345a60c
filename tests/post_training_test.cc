// Post-training as whole runs through the session, on a tiny random model.
#include "apps/observe/checkpoint_store.h"
#include "apps/recipes/group_recipe.h"
#include "apps/run/run.h"
#include "envs/text/registry.h"
#include "tests/support/run_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice {
namespace {

/// The more letters of an answer are an "e", the better: any model can learn that.
class LetterTask final : public TextTask {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "letter-e"; }
  [[nodiscard]] int64_t size(Split /*split*/) const noexcept override { return 16; }
  [[nodiscard]] Result<TextProblem> problem(Split split, int64_t index) const override {
    RETURN_IF_ERROR(check_index(*this, split, index));
    TextProblem problem;
    problem.id = index;
    problem.messages = {{"user", std::string(1, static_cast<char>('a' + index))}};
    return problem;
  }
  [[nodiscard]] TextScore score(const TextProblem& /*problem*/,
                                std::string_view response) const override {
    if (response.empty()) return weighted_sum({{"letters", 0, 1}});
    const auto hits = std::count(response.begin(), response.end(), 'e');
    return weighted_sum(
        {{"letters", static_cast<double>(hits) / static_cast<double>(response.size()), 1}});
  }
};

std::string tiny_model() {
  return fmt::format("{}/models/io/testdata/tiny_llama", SLUICE_SOURCE_DIR);
}

std::string letter_task() {
  static const Status status = register_text_task(
      "letter-e", [](const TextTaskOptions& /*options*/) -> Result<std::unique_ptr<TextTask>> {
        return std::unique_ptr<TextTask>(std::make_unique<LetterTask>());
      });
  EXPECT_TRUE(status.ok()) << status.message();
  return "letter-e";
}

class PostTraining : public ::testing::Test {
 protected:
  void SetUp() override { letter_task(); }

  /// Runs GRPO, or resumes it, to `updates` in all; its last checkpoint.
  RunCheckpoint run(const std::string& name, int64_t updates, uint64_t seed = 1,
                    const std::vector<std::string>& more = {}, bool resume = false) {
    RunOptions options;
    options.quiet = true;
    options.max_steps = updates;
    if (resume) {
      options.resume = dir_ / name;
    } else {
      options.out = dir_ / name;
      options.seed = seed;
      options.seed_given = true;
      options.choices = {{"model", tiny_model()}, {"task", "letter-e"}};
      options.settings = {
          "prompts=4",    "group=4",  "sampling.max_tokens=8", "threads=1",
          "eval_every=0", "kv_mib=8", "checkpoint_every=3",    "learner.learning_rate=0.01"};
      options.settings.insert(options.settings.end(), more.begin(), more.end());
    }
    EXPECT_EQ(run_recipe(*make_group_recipe("grpo"), options), 0);
    auto last = CheckpointStore(dir_ / name + "/checkpoints", "grpo").load_latest();
    EXPECT_TRUE(last.ok()) << last.status().message();
    return last.ok() ? *std::move(last) : RunCheckpoint{};
  }
  [[nodiscard]] double metric(const std::string& name, const char* what) const {
    return testing::last_metric(dir_ / name, what);
  }
  /// What the learners know: weights, moments, counters.
  static std::string learned(const RunCheckpoint& checkpoint) {
    const auto found = checkpoint.workers.find("trainer/0");
    if (found == checkpoint.workers.end()) return "";
    const auto bytes = found->second.get("learner");
    return bytes.ok() ? std::string(*bytes) : "";
  }

  testing::TempDir dir_;
};

TEST_F(PostTraining, GrpoRaisesTheRewardAndItsFirstRatiosAreOne) {
  run("short", 1);
  const double before = metric("short", "reward");
  EXPECT_EQ(metric("short", "ratio"), 1) << "old and current policy are the same";
  EXPECT_LT(metric("short", "logprob_gap_max"), 1e-4);
  EXPECT_EQ(metric("short", "staleness"), 0);
  run("long", 40);
  EXPECT_GT(metric("long", "reward"), before + 0.3);
  EXPECT_EQ(metric("long", "staleness"), 0);
  EXPECT_EQ(metric("long", "failed"), 0);
}

TEST_F(PostTraining, TheSameSeedGivesTheSameWeightsBitForBit) {
  const RunCheckpoint a = run("a", 4);
  const RunCheckpoint b = run("b", 4);
  ASSERT_FALSE(learned(a).empty());
  EXPECT_TRUE(learned(a) == learned(b));
  EXPECT_FALSE(learned(a) == learned(run("c", 4, 2)));
}

TEST_F(PostTraining, ThreeUpdatesAndThreeMoreAfterAResumeAreSix) {
  const RunCheckpoint whole = run("whole", 6);
  run("halves", 3);
  const RunCheckpoint halves = run("halves", 6, 1, {}, true);
  EXPECT_EQ(halves.step, 6);
  ASSERT_FALSE(learned(whole).empty());
  EXPECT_TRUE(learned(whole) == learned(halves));
}

TEST_F(PostTraining, StalenessStaysWithinItsBoundAndGroupsAreUsedOnce) {
  run("stale", 12, 1, {"staleness=2"});
  EXPECT_LE(metric("stale", "staleness"), 2);
  EXPECT_EQ(metric("stale", "rollouts"), 12 * 16);
  EXPECT_GE(metric("stale", "trained_tokens"), 12 * 16);
}

TEST_F(PostTraining, EvaluationsAreOfHeldOutProblemsAndOfOneVersion) {
  run("eval", 4, 1, {"eval_every=2"});
  EXPECT_EQ(metric("eval", "eval_version"), 4) << "the last version is scored before the run ends";
  EXPECT_GE(metric("eval", "eval_reward"), 0);
  EXPECT_EQ(metric("eval", "eval_failed"), 0);
  EXPECT_GE(metric("eval", "eval_length"), 1);
  EXPECT_LE(metric("eval", "eval_truncated"), 1);
  EXPECT_LE(metric("eval", "eval_solved"), metric("eval", "eval_reward") + 1e-9)
      << "no answer of letters is worth 1 unless all of them are e";
}

TEST_F(PostTraining, SamplesOfEveryVersionAreKept) {
  run("kept", 3);
  const std::string text = testing::read_text(dir_ / "kept/rollouts.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_NE(text.find("\"step\":2"), std::string::npos);
}

TEST_F(PostTraining, AGroupOfOneIsRefusedBeforeAnythingStarts) {
  RunOptions options;
  options.quiet = true;
  options.out = dir_ / "one";
  options.choices = {{"task", "letter-e"}, {"model", tiny_model()}};
  options.settings = {"group=1"};
  EXPECT_EQ(run_recipe(*make_group_recipe("grpo"), options), 2);
}

}  // namespace
}  // namespace sluice
