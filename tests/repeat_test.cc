// The same seed gives the same bits, also across a checkpoint and a resume: whole runs through the
// session, compared by what their last checkpoints hold.
#include "apps/observe/checkpoint_store.h"
#include "apps/recipes/ppo_recipe.h"
#include "apps/run/run.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace sluice {
namespace {

constexpr int64_t kIteration = 8 * 16;  // steps

class Repeat : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "sluice_repeat_" + GetParam();
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string dir(const std::string& name) const { return root_ + "/" + name; }

  RunCheckpoint run(const std::string& name, uint64_t seed, int64_t iterations,
                    bool resume = false) {
    RunOptions options;
    options.quiet = true;
    options.max_steps = iterations * kIteration;
    if (resume) {
      options.resume = dir(name);
    } else {
      options.out = dir(name);
      options.seed = seed;
      options.seed_given = true;
      options.settings = {"layout=" + std::string(GetParam()),
                          "envs=8",
                          "horizon=16",
                          "eval_every=0",
                          "checkpoint_every=2",
                          "net.normalise_observations=true",
                          "ppo.normalise_reward=true",
                          "ppo.minibatches=4",
                          "ppo.epochs=3"};
    }
    EXPECT_EQ(run_recipe(*make_ppo_recipe(), options), 0);
    auto last = CheckpointStore(dir(name) + "/checkpoints", "ppo").load_latest();
    EXPECT_TRUE(last.ok()) << last.status().message();
    if (!last.ok()) return {};
    EXPECT_EQ(last->step, iterations);
    return *std::move(last);
  }

  /// The first blob that differs, "" when none does. The incarnation counts resumes.
  static std::string difference(const RunCheckpoint& a, const RunCheckpoint& b) {
    if (a.workers.size() != b.workers.size()) return "workers";
    for (const auto& [worker, state] : a.workers) {
      const auto other = b.workers.find(worker);
      if (other == b.workers.end()) return worker;
      if (state.blobs().size() != other->second.blobs().size()) return worker;
      for (const auto& [name, bytes] : state.blobs()) {
        if (name == "incarnation") continue;
        const auto found = other->second.get(name);
        if (!found.ok() || *found != bytes) return worker + " " + name;
      }
    }
    return "";
  }

  std::string root_;
};

TEST_P(Repeat, SameSeedGivesTheSameBits) {
  const RunCheckpoint once = run("once", 5, 6);
  EXPECT_GE(once.workers.size(), 2U);
  EXPECT_EQ(difference(once, run("again", 5, 6)), "");
  EXPECT_NE(difference(once, run("other", 6, 6)), "");
}

TEST_P(Repeat, ResumedRunGivesTheSameBits) {
  const RunCheckpoint whole = run("whole", 5, 10);
  run("halves", 5, 5);
  EXPECT_EQ(difference(whole, run("halves", 5, 10, true)), "");
}

INSTANTIATE_TEST_SUITE_P(Layouts, Repeat, ::testing::Values("inline", "seed", "split"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice
