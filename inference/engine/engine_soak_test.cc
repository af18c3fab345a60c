// Storms: requests that come, are aborted, resumed, preempted, run late, meet failing steps and new
// weights at random moments. Every invariant holds after every step, and what one version of the
// weights said from beginning to end is, bit for bit, what an idle engine says.
//
// SLUICE_SOAK=N runs N requests in each storm instead of a few hundred.
#include "dataflow/base/random.h"
#include "inference/engine/engine_support.h"
#include "inference/engine/paged_attention_op.h"
#include "inference/speculation/history_drafter.h"
#include "inference/speculation/jacobi_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)

int storm_size(int few) {
  const char* wanted = std::getenv("SLUICE_SOAK");
  return wanted == nullptr ? few : std::max(few, std::atoi(wanted));
}

/// Fails when told to, after the first layer has stored its keys.
class BreakingOp : public AttentionOp {
 public:
  at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                   const at::Tensor& v, const PackedBatch& batch, KvCache* cache) const override {
    SLUICE_CHECK(!(breaks && spec.layer == 1)) << "as told";
    return inner_.apply(spec, q, k, v, batch, cache);
  }
  bool breaks = false;

 private:
  PagedAttentionOp inner_;
};

/// What the model of some weights is asked.
constexpr uint64_t kKinds = 24;
constexpr uint64_t kWeights = 3;
GenRequest request_of(uint64_t kind) {
  const RandomKey key = RandomKey(99).split(kind);
  const auto pick = [&](uint64_t i, uint64_t below) { return key.word(i) % below; };
  GenRequest request = drawn_request(prompt(1 + static_cast<int64_t>(pick(0, 20)), pick(1, 3)),
                                     static_cast<int32_t>(1 + pick(2, 20)), kind);
  request.sampling.n = static_cast<int32_t>(1 + pick(3, 3) * pick(4, 2));
  request.sampling.prompt_logprobs = pick(5, 5) == 0;
  if (pick(6, 4) == 0) request.sampling.repetition_penalty = 1.3F;
  if (pick(7, 4) == 0) request.sampling.frequency_penalty = 0.7F;
  if (pick(8, 4) == 0) request.sampling.top_k = 9;
  return request;
}

class Storm {
 public:
  /// `exact`: the model's answers do not depend on what happens around them.
  Storm(const Transformer& model, uint64_t seed, bool exact,
        std::shared_ptr<Drafter> drafter = nullptr)
      : model_(model), key_(seed), exact_(exact) {
    EngineOptions o = exact ? exact_options() : options();
    o.drafter = std::move(drafter);
    o.adapt_drafts = false;  // by measured time: no two storms would be the same
    o.max_drafts = 3;
    o.blocks = 14;
    o.scheduler.token_budget = 11;
    o.scheduler.long_prefill = 5;
    o.scheduler.max_sequences = 7;
    op_ = std::make_shared<BreakingOp>();
    o.attention = op_;
    auto engine = Engine::create(model, o, {1, 1, version_, 0}, clock_);
    SLUICE_CHECK(engine.ok()) << engine.status().message();
    engine_ = *std::move(engine);
  }

  /// Guesses that were right.
  [[nodiscard]] int64_t accepted() const { return engine_->stats().accepted_tokens; }

  void run(int requests) {
    while (submitted_ < requests) {
      const uint64_t what = draw(10);
      if (what < 4) submit_any();
      if (what == 4) abort_one();
      if (what == 5 && draw(12) == 0) swap();
      if (what == 6) clock_.advance(1);
      ASSERT_NO_FATAL_FAILURE(step());
    }
    while (engine_->busy() && draw(50) != 0) ASSERT_NO_FATAL_FAILURE(step());
    closing_ = true;
    engine_->abort_all();
    ASSERT_TRUE(engine_->check().ok());
    const EngineStats stats = engine_->stats();
    EXPECT_EQ(ended_, submitted_);
    EXPECT_TRUE(live_.empty());
    EXPECT_EQ(stats.free_blocks, stats.blocks);
    EXPECT_GT(stats.scheduler.preemptions, 0);
    EXPECT_GT(stats.swaps, 0);
    EXPECT_GT(stats.failed_steps, 0);
    EXPECT_GT(aborted_, submitted_ / 8);
    EXPECT_GT(whole_, submitted_ / 8);
    if (!exact_) return;
    EXPECT_GT(stats.scheduler.prefix_hits, 0);
    EXPECT_GT(compared_, submitted_ / 4);
    EXPECT_GT(resumed_, 0);
  }

 private:
  struct Live {
    uint64_t kind = 0;
    size_t generated = 0;
    int64_t began = 0;   ///< version that served then
    bool mixed = false;  ///< its keys may come from two versions
  };

  uint64_t draw(uint64_t below) { return key_.word(counter_++) % below; }

  void step() {
    op_->breaks = draw(25) == 0;
    const Status status = engine_->step();
    ASSERT_TRUE(status.ok() || op_->breaks) << status.message();
    const Status fine = engine_->check();
    ASSERT_TRUE(fine.ok()) << fine.message();
  }

  void submit_any() {
    const uint64_t kind = draw(kKinds);
    submit(request_of(kind), kind);
  }

  void submit(GenRequest request, uint64_t kind) {
    if (draw(8) == 0) request.deadline = clock_.now() + static_cast<int64_t>(draw(10));
    if (draw(6) == 0) request.priority = static_cast<int64_t>(draw(3)) - 1;
    const bool abort_when_heard = draw(8) == 0;
    GenListener listener;
    listener.on_token = [this, abort_when_heard](const TokenEvent& event) {
      // NotFound when this token was its last.
      if (abort_when_heard && draw(4) == 0) static_cast<void>(engine_->abort(event.request));
    };
    listener.on_done = [this](const Completion& done) { finished(done); };
    const size_t generated = request.generated.size();
    const auto id = engine_->submit(std::move(request), std::move(listener));
    ASSERT_TRUE(id.ok()) << id.status().message();
    live_[*id] = {kind, generated, engine_->version().step, false};
    ++submitted_;
  }

  void abort_one() {
    if (live_.empty()) return;
    auto it = live_.begin();
    std::advance(it, draw(live_.size()));
    ASSERT_TRUE(engine_->abort(it->first).ok());
  }

  Parameters weights_of(int64_t version) const {
    const auto which = static_cast<uint64_t>(version) % kWeights;
    return which == 1 ? model_.parameters() : other_weights(model_, which);
  }

  void swap() {
    ++version_;
    const auto mode = static_cast<SwapMode>(draw(3));
    const VersionTag tag{1, 1, version_, 0};
    if (mode == SwapMode::InFlight) {
      for (auto& [id, live] : live_) live.mixed = true;
    }
    ASSERT_TRUE(engine_->swap_weights(weights_of(version_), tag, mode).ok());
  }

  const Completion& expected(int64_t version, uint64_t kind) {
    const auto key = std::pair(static_cast<uint64_t>(version) % kWeights, kind);
    const auto found = expected_.find(key);
    if (found != expected_.end()) return found->second;
    Runner idle(Transformer(model_.config(), weights_of(version)), exact_options());
    return expected_.emplace(key, idle.complete(request_of(kind))).first->second;
  }

  void finished(const Completion& done) {
    ++ended_;
    const Live live = live_.at(done.id);
    live_.erase(done.id);
    const GenRequest asked = request_of(live.kind);
    for (const Sample& sample : done.samples) {
      const auto tokens = std::ssize(sample.tokens) + static_cast<int64_t>(live.generated);
      ASSERT_EQ(sample.tokens.size(), sample.logprobs.size());
      ASSERT_LE(tokens, asked.sampling.max_tokens);
      ASSERT_NE(sample.reason, FinishReason::None);
      ASSERT_NE(sample.reason, FinishReason::Failed) << sample.error.message();
      const bool aborted = sample.reason == FinishReason::Abort;
      ++(aborted ? aborted_ : whole_);
      if (!aborted) {
        ASSERT_EQ(tokens, asked.sampling.max_tokens);
      }
      ASSERT_NO_FATAL_FAILURE(compare(done, sample, live, aborted));
    }
    if (exact_ && !closing_ && live.generated == 0 && !live.mixed && draw(2) == 0) {
      resume(done, asked, live);
    }
  }

  void compare(const Completion& done, const Sample& sample, const Live& live, bool aborted) {
    for (size_t i = 0; i < sample.versions.size(); ++i) {
      ASSERT_EQ(sample.versions[i].start == 0, i == 0);
      if (i > 0) {
        ASSERT_GT(sample.versions[i].version.step, sample.versions[i - 1].version.step);
      }
    }
    if (!exact_ || live.mixed || sample.versions.size() != 1) return;
    const int64_t version = sample.versions[0].version.step;
    // What was resumed goes on with tokens of the version it began under.
    if (live.generated > 0 && live.began != version) return;
    const Completion& want = expected(version, live.kind);
    const Sample& whole = want.samples.at(sample.index);
    const auto part = [&](const auto& list) {
      const auto begin = list.begin() + static_cast<int64_t>(live.generated);
      return std::vector(begin, begin + std::ssize(sample.tokens));
    };
    ASSERT_EQ(sample.tokens, part(whole.tokens));
    ASSERT_EQ(sample.logprobs, part(whole.logprobs));
    ASSERT_EQ(sample.entropies, part(whole.entropies));
    if (!aborted && live.generated == 0) {
      ASSERT_EQ(done.prompt_logprobs, want.prompt_logprobs);
    }
    ++compared_;
  }

  /// Goes on with one sample of what was cut off, where one version said all of it and still
  /// serves.
  void resume(const Completion& done, const GenRequest& asked, const Live& was) {
    for (const Sample& sample : done.samples) {
      const bool fits = sample.reason == FinishReason::Abort && sample.versions.size() == 1 &&
                        sample.versions[0].version == engine_->version() &&
                        !engine_->swap_pending();
      if (!fits) continue;
      GenRequest rest = asked;
      rest.sampling.n = 1;
      rest.first_sample = sample.index;
      rest.generated = sample.tokens;
      submit(std::move(rest), was.kind);
      ++resumed_;
      return;
    }
  }

  const Transformer& model_;
  RandomKey key_;
  uint64_t counter_ = 0;
  bool exact_;
  VirtualClock clock_;
  std::shared_ptr<BreakingOp> op_;
  std::unique_ptr<Engine> engine_;
  std::map<RequestId, Live> live_;
  std::map<std::pair<uint64_t, uint64_t>, Completion> expected_;
  int64_t version_ = 1;
  bool closing_ = false;
  int submitted_ = 0;
  int ended_ = 0;
  int aborted_ = 0;
  int whole_ = 0;
  int compared_ = 0;
  int resumed_ = 0;
};

TEST(EngineSoak, WhateverHappensTheInvariantsHoldAndAnswersAreThoseOfAnIdleEngine) {
  const Transformer m = model();
  ASSERT_NO_FATAL_FAILURE(Storm(m, 1, true).run(storm_size(400)));
  ASSERT_NO_FATAL_FAILURE(Storm(m, 2, true).run(storm_size(400)));
}

TEST(EngineSoak, SlidingWindowsAndCapsToo) {
  const Transformer m = model("gemma2");
  ASSERT_NO_FATAL_FAILURE(Storm(m, 4, true).run(storm_size(150)));
}

TEST(EngineSoak, GuessesDoNoHarm) {
  const Transformer m = model();
  Storm history(m, 4, true, std::make_shared<HistoryDrafter>());
  ASSERT_NO_FATAL_FAILURE(history.run(storm_size(400)));
  EXPECT_GT(history.accepted(), 20);
  Storm jacobi(m, 5, true, std::make_shared<JacobiDrafter>());
  ASSERT_NO_FATAL_FAILURE(jacobi.run(storm_size(200)));
}

TEST(EngineSoak, ModelsWithStatesLoseNothingEither) {
  const Transformer m = model("qwen3_next");
  ASSERT_NO_FATAL_FAILURE(Storm(m, 3, false).run(storm_size(100)));
}

}  // namespace
}  // namespace sluice
