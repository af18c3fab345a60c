// Storms: requests that come, are aborted, preempted and meet new weights at random moments.
#include "dataflow/base/random.h"
#include "inference/engine/engine_support.h"
#include "inference/speculation/history_drafter.h"
#include "inference/speculation/jacobi_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)

class Storm {
 public:
  Storm(const Transformer& model, uint64_t seed, std::shared_ptr<Drafter> drafter = nullptr)
      : model_(model), key_(seed) {
    EngineOptions o = options();
    o.drafter = std::move(drafter);
    o.blocks = 14;
    o.scheduler.token_budget = 11;
    o.scheduler.long_prefill = 5;
    o.scheduler.max_sequences = 7;
    auto engine = Engine::create(model, o, kVersion1, clock_);
    SLUICE_CHECK(engine.ok()) << engine.status().message();
    engine_ = *std::move(engine);
  }

  /// Guesses that were right.
  [[nodiscard]] int64_t accepted() const { return engine_->stats().accepted_tokens; }

  void run(int requests) {
    while (submitted_ < requests) {
      const uint64_t what = draw(10);
      if (what < 4) submit();
      if (what == 4) abort_one();
      if (what == 5 && draw(12) == 0) swap();
      if (what == 6) clock_.advance(1);
      const Status status = engine_->step();
      ASSERT_TRUE(status.ok()) << status.message();
      const Status fine = engine_->check();
      ASSERT_TRUE(fine.ok()) << fine.message();
    }
    while (engine_->busy() && draw(50) != 0) ASSERT_TRUE(engine_->step().ok());
    engine_->abort_all();
    ASSERT_TRUE(engine_->check().ok());
    EXPECT_EQ(ended_, submitted_);
    EXPECT_EQ(engine_->stats().free_blocks, engine_->stats().blocks);
    EXPECT_GT(engine_->stats().scheduler.preemptions, 0);
    EXPECT_GT(aborted_, submitted_ / 8);
    EXPECT_GT(whole_, submitted_ / 8);
    EXPECT_GT(engine_->stats().swaps, 0);
  }

 private:
  uint64_t draw(uint64_t below) { return key_.word(counter_++) % below; }

  void submit() {
    GenRequest request = drawn_request(prompt(1 + static_cast<int64_t>(draw(20)), draw(3)),
                                       static_cast<int32_t>(1 + draw(20)), draw(100));
    request.sampling.n = static_cast<int32_t>(1 + draw(3) * draw(2));
    request.sampling.prompt_logprobs = draw(6) == 0;
    if (draw(8) == 0) request.deadline = clock_.now() + static_cast<int64_t>(draw(10));
    const bool abort_when_heard = draw(8) == 0;
    GenListener listener;
    listener.on_token = [this, abort_when_heard](const TokenEvent& event) {
      // NotFound when this token was its last.
      if (abort_when_heard && draw(4) == 0) static_cast<void>(engine_->abort(event.request));
    };
    listener.on_done = [this, request](const Completion& done) {
      ++ended_;
      std::erase(live_, done.id);
      ASSERT_EQ(std::ssize(done.samples), request.sampling.n);
      for (const Sample& sample : done.samples) {
        ASSERT_EQ(sample.tokens.size(), sample.logprobs.size());
        ASSERT_LE(std::ssize(sample.tokens), request.sampling.max_tokens);
        ASSERT_NE(sample.reason, FinishReason::None);
        ASSERT_NE(sample.reason, FinishReason::Failed) << sample.error.message();
        if (sample.reason == FinishReason::Abort) {
          ++aborted_;
        } else {
          ++whole_;
          ASSERT_EQ(std::ssize(sample.tokens), request.sampling.max_tokens);
        }
      }
    };
    const auto id = engine_->submit(request, listener);
    ASSERT_TRUE(id.ok()) << id.status().message();
    live_.push_back(*id);
    ++submitted_;
  }

  void abort_one() {
    if (live_.empty()) return;
    const RequestId id = live_[draw(live_.size())];
    ASSERT_TRUE(engine_->abort(id).ok());
  }

  void swap() {
    ++version_;
    const auto mode = static_cast<SwapMode>(draw(3));
    ASSERT_TRUE(engine_
                    ->swap_weights(other_weights(model_, static_cast<uint64_t>(version_)),
                                   {1, 1, version_, 0}, mode)
                    .ok());
  }

  const Transformer& model_;
  RandomKey key_;
  uint64_t counter_ = 0;
  VirtualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::vector<RequestId> live_;
  int64_t version_ = 1;
  int submitted_ = 0;
  int ended_ = 0;
  int aborted_ = 0;
  int whole_ = 0;
};

TEST(EngineSoak, NoBlockIsLostInAStormOfAborts) {
  const Transformer m = model();
  ASSERT_NO_FATAL_FAILURE(Storm(m, 1).run(500));
  ASSERT_NO_FATAL_FAILURE(Storm(m, 2).run(500));
}

TEST(EngineSoak, GuessesDoNoHarm) {
  const Transformer m = model();
  Storm history(m, 4, std::make_shared<HistoryDrafter>());
  ASSERT_NO_FATAL_FAILURE(history.run(500));
  EXPECT_GT(history.accepted(), 20);
  Storm jacobi(m, 5, std::make_shared<JacobiDrafter>());
  ASSERT_NO_FATAL_FAILURE(jacobi.run(300));
}

TEST(EngineSoak, ModelsWithStatesLoseNoneEither) {
  const Transformer m = model("qwen3_next");
  ASSERT_NO_FATAL_FAILURE(Storm(m, 3).run(100));
}

}  // namespace
}  // namespace sluice
