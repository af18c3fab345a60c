// Random submits, forks, failures, aborts and new versions: every sequence gets the tokens it would
// get alone, and all invariants hold after every step.
#include "dataflow/base/random.h"
#include "inference/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

struct Expected {
  uint64_t stream = 0;  ///< which of the samples
  size_t prompt = 0;
  size_t length = 0;
};

/// The token that follows `tokens`: a function of them and of the sample, as a real model's is.
int64_t following(const std::vector<int64_t>& tokens, uint64_t stream) {
  RandomKey key = RandomKey(stream).split(static_cast<uint64_t>(tokens.size()));
  return static_cast<int64_t>(key.split(static_cast<uint64_t>(tokens.back())).word(0) % 3);
}

class Soak {
 public:
  Soak(uint64_t seed, int32_t blocks) : key_(seed), scheduler_(options(), blocks, 4) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      ASSERT_NO_FATAL_FAILURE(step()) << "step " << i;
    }
    // What is left runs to its end: nothing hangs.
    for (int i = 0; !scheduler_.idle(); ++i) {
      ASSERT_LT(i, 20000);
      ASSERT_NO_FATAL_FAILURE(step());
    }
    ASSERT_EQ(scheduler_.space().free_blocks(), scheduler_.space().blocks());
    ASSERT_TRUE(live_.empty());
    EXPECT_GT(finished_, steps / 20);
    EXPECT_GT(accepted_, drafted_ / 10);
    EXPECT_LT(accepted_, drafted_);
    EXPECT_GT(scheduler_.stats().preemptions, 0);
    EXPECT_GT(scheduler_.stats().prefix_hits, 0);
  }

 private:
  static SchedulerOptions options() {
    SchedulerOptions o;
    o.token_budget = 13;
    o.long_prefill = 6;
    o.max_sequences = 9;
    return o;
  }
  uint64_t draw(uint64_t below) { return key_.word(counter_++) % below; }

  void act() {
    const uint64_t what = draw(24);
    if (what < 7 && live_.size() < 30) submit();
    if (what == 8 && !live_.empty()) {
      auto it = live_.begin();
      std::advance(it, draw(live_.size()));
      scheduler_.finish(it->first, draw(2) == 0);
      live_.erase(it);
    }
    if (what == 9 && draw(4) == 0) {
      scheduler_.change_version({1, 1, ++version_, 0}, draw(2) == 0);
    }
    if (what == 10) scheduler_.pause(draw(4) == 0);
  }

  void submit() {
    SequenceSpec s;
    const uint64_t prompt = 1 + draw(20);
    for (uint64_t i = 0; i < prompt; ++i) s.tokens.push_back(static_cast<int64_t>(draw(12) / 11));
    s.max_length = static_cast<int64_t>(prompt + 1 + draw(24));
    s.samples = static_cast<int32_t>(1 + draw(4) * draw(2));
    s.order = static_cast<int64_t>(draw(50));
    if (draw(8) == 0) s.priority = static_cast<int64_t>(draw(3)) - 1;
    s.find_prefix = draw(5) != 0;
    const auto length = static_cast<size_t>(s.max_length);
    const int32_t samples = s.samples;
    const bool fits = scheduler_.admissible(s).ok();
    const auto id = scheduler_.submit(std::move(s));
    ASSERT_EQ(id.ok(), fits);
    if (!fits) return;
    live_[*id] = {0, prompt, length};
    samples_[*id] = samples;
  }

  /// Guesses that are right up to a random place.
  void guess() {
    for (const SequenceId id : scheduler_.ready()) {
      const auto sample = live_.find(id);
      if (sample == live_.end() || samples_.contains(id) || draw(3) != 0) continue;
      std::vector<int64_t> tokens = scheduler_.tokens(id);
      const size_t known = tokens.size();
      const uint64_t right = draw(6);
      while (tokens.size() + 1 < sample->second.length && tokens.size() < known + 6) {
        const int64_t next = following(tokens, sample->second.stream);
        tokens.push_back(tokens.size() < known + right ? next : next + 1);
      }
      scheduler_.draft(id, {tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end()});
    }
  }

  void step() {
    guess();
    const StepPlan plan = scheduler_.plan();
    int64_t tokens = 0;
    std::map<SequenceId, int> rows;
    for (const StepRow& row : plan.rows) {
      ASSERT_LT(row.begin, row.end);
      ASSERT_EQ(++rows[row.sequence], 1);
      tokens += row.tokens();
      drafted_ += row.drafts;
    }
    ASSERT_EQ(tokens, plan.tokens);
    ASSERT_LE(tokens, options().token_budget);
    if (draw(10) == 0) {
      scheduler_.rollback();
    } else {
      scheduler_.commit();
      for (const StepRow& row : plan.rows) {
        if (row.last) sample(row.sequence);
      }
    }
    const Status status = scheduler_.check();
    ASSERT_TRUE(status.ok()) << status.message();
    scheduler_.pause(false);
  }

  /// Tokens that follow, as long as they are the guessed ones.
  std::vector<int64_t> draw_run(SequenceId id) {
    std::vector<int64_t> tokens = scheduler_.tokens(id);
    std::vector<int64_t> drawn;
    for (size_t i = 0;; ++i) {
      drawn.push_back(following(tokens, live_.at(id).stream));
      tokens.push_back(drawn.back());
      const auto drafts = scheduler_.drafts(id);
      if (i == drafts.size() || drawn.back() != drafts[i]) return drawn;
    }
  }

  void sample(SequenceId id) {
    std::vector<SequenceId> all = {id};
    if (const int32_t n = samples_[id]; n > 1) {
      const auto children = scheduler_.fork(id, n - 1);
      all.insert(all.end(), children.begin(), children.end());
      for (size_t i = 1; i < all.size(); ++i) {
        live_[all[i]] = live_[id];
        live_[all[i]].stream = i;
      }
    }
    samples_.erase(id);
    for (const SequenceId each : all) {
      const std::vector<int64_t> drawn = draw_run(each);
      accepted_ += std::ssize(drawn) - 1;
      scheduler_.append(each, drawn);
      if (scheduler_.tokens(each).size() < live_.at(each).length) continue;
      const std::vector<int64_t> got = scheduler_.tokens(each);
      const Expected& want = live_.at(each);
      for (size_t t = want.prompt; t < got.size(); ++t) {
        const std::vector<int64_t> before(got.begin(), got.begin() + static_cast<int64_t>(t));
        ASSERT_EQ(got[t], following(before, want.stream));
      }
      scheduler_.finish(each);
      live_.erase(each);
      ++finished_;
    }
  }

  RandomKey key_;
  uint64_t counter_ = 0;
  Scheduler scheduler_;
  std::map<SequenceId, Expected> live_;
  std::map<SequenceId, int32_t> samples_;
  int64_t version_ = 0;
  int finished_ = 0;
  int64_t drafted_ = 0;
  int64_t accepted_ = 0;
};

TEST(SchedulerSoak, InvariantsHoldAndEverythingEndsWhateverHappens) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(Soak(seed, 12).run(1500));
    ASSERT_NO_FATAL_FAILURE(Soak(seed + 100, 25).run(1500));
  }
}

}  // namespace
}  // namespace sluice
