// Guesses change how fast tokens come and nothing else.
#include "inference/engine/engine_support.h"
#include "inference/engine/paged_attention_op.h"
#include "inference/engine/scripted_drafter.h"
#include "inference/sampler/byte_tokenizer.h"
#include "inference/sampler/sampling_reference.h"
#include "inference/speculation/history_drafter.h"
#include "inference/speculation/jacobi_drafter.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;
using testing::SizeIs;

void expect_same(const Completion& got, const Completion& want) {
  ASSERT_EQ(got.samples.size(), want.samples.size());
  for (size_t i = 0; i < want.samples.size(); ++i) {
    const Sample& a = got.samples[i];
    const Sample& b = want.samples[i];
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.logprobs, b.logprobs);
    EXPECT_EQ(a.logprobs_temperature, b.logprobs_temperature);
    EXPECT_EQ(a.entropies, b.entropies);
    EXPECT_EQ(a.kept, b.kept);
    EXPECT_EQ(a.top, b.top);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.reason, b.reason);
    EXPECT_EQ(a.versions, b.versions);
  }
}

/// Completions of the requests, one after the other, without guesses; the drafter is told of them.
std::vector<Completion> plain(const Transformer& m, const EngineOptions& o,
                              const std::vector<GenRequest>& requests, ScriptedDrafter& drafter) {
  std::vector<Completion> all;
  for (const GenRequest& request : requests) {
    Runner runner(m, o);
    all.push_back(runner.complete(request));
    for (const Sample& sample : all.back().samples) {
      std::vector<int64_t> output = request.generated;
      output.insert(output.end(), sample.tokens.begin(), sample.tokens.end());
      drafter.tell(request.sampling.seed.value_or(0), sample.index, std::move(output));
    }
  }
  return all;
}

/// The same requests at once, with guesses of which `wrong` in ten are wrong, give the same bits.
EngineStats expect_unchanged(const Transformer& m, EngineOptions o,
                             const std::vector<GenRequest>& requests, uint64_t wrong) {
  auto drafter = std::make_shared<ScriptedDrafter>(wrong);
  EngineOptions roomy = o;
  roomy.blocks = 200;
  const auto want = plain(m, roomy, requests, *drafter);
  o.drafter = drafter;
  Runner runner(m, o);
  std::vector<RequestId> ids;
  for (const GenRequest& request : requests) ids.push_back(runner.submit(request));
  runner.run();
  int64_t samples = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same(runner.done(ids[i]), want[i]);
    samples += std::ssize(want[i].samples);
    for (const Sample& sample : runner.done(ids[i]).samples) {
      EXPECT_EQ(runner.streamed(ids[i], sample.index), sample.tokens);
    }
  }
  EXPECT_EQ(drafter->ended, samples);
  return runner.engine().stats();
}

std::vector<GenRequest> some_requests() {
  std::vector<GenRequest> requests;
  for (uint64_t i = 0; i < 4; ++i) {
    requests.push_back(drawn_request(prompt(5 + static_cast<int64_t>(i), i), 24, 10 + i));
  }
  requests[1].sampling.temperature = 0;
  requests[2].sampling.n = 3;
  requests[2].sampling.top_p = 0.8F;
  requests[3].sampling.temperature = 0.6F;
  requests[3].sampling.top_k = 9;
  return requests;
}

class Speculation : public testing::TestWithParam<const char*> {};

TEST_P(Speculation, KeepsEveryBitInExactMode) {
  const Transformer m = model(GetParam());
  for (const uint64_t wrong : {0, 3, 10}) {
    SCOPED_TRACE(wrong);
    const EngineStats stats = expect_unchanged(m, exact_options(), some_requests(), wrong);
    EXPECT_GT(stats.drafted_tokens, 0);
    EXPECT_EQ(stats.accepted_tokens > 0, wrong < 10);
    EXPECT_EQ(stats.free_blocks, stats.blocks);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Speculation,
                         testing::Values("llama", "mistral", "qwen3", "qwen3_moe", "gemma2", "gpt2",
                                         "rope_dynamic"),
                         [](const auto& info) { return std::string(info.param); });

TEST(EngineSpeculation, StopsAndPenaltiesHoldInsideARun) {
  const Transformer m = model();
  const auto stop = [&](GenRequest r, size_t at) {
    Runner runner(m, exact_options());
    return runner.complete(std::move(r)).samples[0].tokens[at];
  };
  std::vector<GenRequest> requests = some_requests();
  requests.resize(1);
  const GenRequest base = drawn_request(prompt(6), 20, 5);
  GenRequest stopped = base;
  stopped.sampling.stop_token_ids = {stop(base, 7)};
  GenRequest late = stopped;
  late.sampling.min_tokens = 11;
  late.sampling.seed = 6;
  GenRequest penalized = base;
  penalized.sampling.seed = 7;
  penalized.sampling.repetition_penalty = 1.4F;
  penalized.sampling.frequency_penalty = 0.7F;
  penalized.sampling.presence_penalty = 0.3F;
  GenRequest listed = base;
  listed.sampling.seed = 8;
  listed.sampling.top_logprobs = 5;
  listed.sampling.logit_bias = {{9, 3.0F}, {11, -4.0F}};
  GenRequest short_one = base;
  short_one.sampling.seed = 9;
  short_one.sampling.max_tokens = 3;
  GenRequest one = base;
  one.sampling.seed = 12;
  one.sampling.max_tokens = 1;
  GenRequest resumed = base;
  resumed.sampling.seed = 13;
  resumed.generated = {4, 5, 6, 7};
  GenRequest scored = base;
  scored.sampling.seed = 14;
  scored.sampling.prompt_logprobs = true;
  for (const GenRequest& r : {stopped, late, penalized, listed, short_one, one, resumed, scored}) {
    requests.push_back(r);
  }
  for (const uint64_t wrong : {0, 2}) {
    SCOPED_TRACE(wrong);
    const EngineStats stats = expect_unchanged(m, exact_options(), requests, wrong);
    EXPECT_GT(stats.accepted_tokens, 30);
  }
}

TEST(EngineSpeculation, TextsAndConstraintsHoldInsideARun) {
  const Transformer m = model();
  EngineOptions o = exact_options();
  o.tokenizer = byte_tokenizer();
  Runner runner(m, o);
  const std::string text = runner.complete(greedy_request(prompt(5), 12)).samples[0].text;
  GenRequest stopping = greedy_request(prompt(5), 12);
  stopping.sampling.stop = {text.substr(4, 3)};
  stopping.sampling.seed = 1;
  GenRequest constrained = drawn_request(prompt(5), 40, 2);
  const auto numbers = Constraint::regex("([0-9]{2,3}, ){4}");
  ASSERT_TRUE(numbers.ok());
  constrained.constraint = *numbers;
  constrained.sampling.n = 2;
  for (const uint64_t wrong : {0, 3}) {
    const EngineStats stats = expect_unchanged(m, o, {stopping, constrained}, wrong);
    EXPECT_GT(stats.accepted_tokens, 10);
  }
}

TEST(EngineSpeculation, PreemptionAndSmallBudgetsChangeNothing) {
  const Transformer m = model();
  EngineOptions tight = exact_options();
  tight.blocks = 16;
  EXPECT_GT(expect_unchanged(m, tight, some_requests(), 2).scheduler.preemptions, 0);
  for (const int64_t budget : {1, 3, 7}) {
    EngineOptions small = exact_options();
    small.scheduler.token_budget = budget;
    small.scheduler.long_prefill = 2;
    expect_unchanged(m, small, some_requests(), 2);
  }
}

TEST(EngineSpeculation, NewWeightsMeanwhileChangeNothing) {
  const Transformer m = model();
  const Parameters other = other_weights(m, 3);
  for (const SwapMode mode : {SwapMode::Resume, SwapMode::InFlight}) {
    // The step at which the weights change must be the same: guesses that are all wrong.
    std::vector<Completion> done;
    for (const bool guessing : {false, true}) {
      EngineOptions o = exact_options();
      auto drafter = std::make_shared<ScriptedDrafter>(10);
      if (guessing) {
        drafter->tell(3, 0, std::vector<int64_t>(30, 61));
        o.drafter = drafter;
      }
      Runner runner(m, o);
      const RequestId id = runner.submit(drawn_request(prompt(5), 20, 3));
      while (runner.streamed(id).size() < 9) runner.step();
      ASSERT_TRUE(runner.engine().swap_weights(other, kVersion2, mode).ok());
      runner.run();
      EXPECT_EQ(runner.engine().stats().drafted_tokens > 0, guessing);
      done.push_back(runner.done(id));
    }
    expect_same(done[1], done[0]);
  }
}

TEST(EngineSpeculation, FewerStepsForGoodGuessesAndHardlyMoreRowsForBadOnes) {
  const Transformer m = model();
  const std::vector<GenRequest> requests = {drawn_request(prompt(5), 200, 1)};
  const EngineStats good = expect_unchanged(m, exact_options(), requests, 0);
  EXPECT_LT(good.steps, 60);
  EXPECT_GT(good.accepted_tokens, 140);
  EXPECT_EQ(good.generated_tokens, 200);
  EXPECT_GE(good.drafted_tokens, good.accepted_tokens);
  const EngineStats bad = expect_unchanged(m, exact_options(), requests, 10);
  EXPECT_EQ(bad.accepted_tokens, 0);
  EXPECT_EQ(bad.steps, 200);
  EXPECT_LT(bad.drafted_tokens, 24);
}

/// Guesses one token, whatever came before.
class ConstantDrafter final : public Drafter {
 public:
  explicit ConstantDrafter(int64_t token) : token_(token) {}
  void draft(std::span<DraftQuery> queries) override {
    for (DraftQuery& query : queries) query.out.assign(1, token_);
  }

 private:
  int64_t token_;
};

TEST(EngineSpeculation, TheTokenBehindAnAcceptedGuessFollowsTheModelsDistribution) {
  const Transformer m = model();
  const int64_t vocabulary = m.config().vocab_size;
  const auto distribution = [&](std::vector<int64_t> behind) {
    GenRequest r = drawn_request(prompt(5), 1);
    r.prompt.insert(r.prompt.end(), behind.begin(), behind.end());
    r.sampling.top_logprobs = static_cast<int32_t>(vocabulary);
    Runner runner(m);
    std::vector<double> p(static_cast<size_t>(vocabulary), 0);
    const Sample sample = runner.complete(r).samples[0];
    for (const TokenLogprob& each : sample.top[0]) {
      p[static_cast<size_t>(each.token)] = std::exp(static_cast<double>(each.logprob));
    }
    return p;
  };
  // The first token comes from the prompt, without a guess; then the guess, then what is counted.
  const std::vector<double> first = distribution({});
  const int64_t start = std::ranges::max_element(first) - first.begin();
  const std::vector<double> second = distribution({start});
  const int64_t guess = std::ranges::max_element(second) - second.begin();
  EngineOptions o = options();
  o.blocks = 2000;
  o.scheduler.token_budget = 512;
  o.drafter = std::make_shared<ConstantDrafter>(guess);
  o.adapt_drafts = false;
  Runner runner(m, o);
  std::vector<int64_t> seconds(static_cast<size_t>(vocabulary), 0), thirds = seconds;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    GenRequest r = drawn_request(prompt(5), 2, seed);
    r.prompt.push_back(start);
    r.sampling.max_tokens = 4;
    r.sampling.n = 200;
    // From here on the second token of the output is guessed about.
    for (const Sample& sample : runner.complete(r).samples) {
      ++seconds[static_cast<size_t>(sample.tokens[0])];
      if (sample.tokens[0] == guess) ++thirds[static_cast<size_t>(sample.tokens[1])];
    }
  }
  EXPECT_GT(runner.engine().stats().accepted_tokens, 100);
  EXPECT_GT(reference::chi_square_p(seconds, second), 0.001);
  EXPECT_GT(reference::chi_square_p(thirds, distribution({start, guess})), 0.001);
}

TEST(EngineSpeculation, FailedStepsAreRepeated) {
  /// Fails every other call of a layer.
  class Flaky : public AttentionOp {
   public:
    at::Tensor apply(const AttentionSpec& spec, const at::Tensor& q, const at::Tensor& k,
                     const at::Tensor& v, const PackedBatch& batch, KvCache* cache) const override {
      SLUICE_CHECK(spec.layer != 1 || ++calls_ % 2 == 0) << "as told";
      return inner_.apply(spec, q, k, v, batch, cache);
    }

   private:
    mutable int calls_ = 0;
    PagedAttentionOp inner_;
  };
  const Transformer m = model();
  const std::vector<GenRequest> requests = {drawn_request(prompt(9), 20, 4)};
  auto drafter = std::make_shared<ScriptedDrafter>(1);
  const auto want = plain(m, exact_options(), requests, *drafter);
  EngineOptions o = exact_options();
  o.attention = std::make_shared<Flaky>();
  o.drafter = drafter;
  Runner runner(m, o);
  const RequestId id = runner.submit(requests[0]);
  for (int i = 0; runner.engine().busy(); ++i) {
    ASSERT_LT(i, 1000);
    static_cast<void>(runner.engine().step());
    ASSERT_TRUE(runner.engine().check().ok());
  }
  expect_same(runner.done(id), want[0]);
  EXPECT_GT(runner.engine().stats().failed_steps, 2);
  EXPECT_GT(runner.engine().stats().accepted_tokens, 5);
}

/// An engine that guesses right about a request of 30 tokens, and a listener for it.
struct Listened {
  explicit Listened(int32_t n = 1) : m(model()) {
    request = drawn_request(prompt(5), 30, 2);
    request.sampling.n = n;
    auto drafter = std::make_shared<ScriptedDrafter>(0);
    want = plain(m, exact_options(), {request}, *drafter)[0];
    EngineOptions o = exact_options();
    o.drafter = drafter;
    auto made = Engine::create(m, o, kVersion1, clock);
    SLUICE_CHECK(made.ok());
    engine = *std::move(made);
    listener.on_done = [this](Completion c) { done.push_back(std::move(c)); };
  }
  void run() {
    ASSERT_TRUE(engine->submit(request, listener).ok());
    while (engine->busy()) {
      ASSERT_TRUE(engine->step().ok());
      ASSERT_TRUE(engine->check().ok());
    }
    ASSERT_THAT(done, SizeIs(1));
  }
  Transformer m;
  VirtualClock clock;
  GenRequest request;
  Completion want;
  std::unique_ptr<Engine> engine;
  GenListener listener;
  std::vector<Completion> done;
};

TEST(EngineSpeculation, ASampleEndsBehindTheTokenAtWhichItsListenerEndsIt) {
  Listened own(2);
  int heard = 0;
  own.listener.on_token = [&](const TokenEvent& event) {
    if (event.sample == 1 && ++heard == 14) {
      EXPECT_TRUE(own.engine->finish(event.request, 1, FinishReason::Stop).ok());
    }
  };
  ASSERT_NO_FATAL_FAILURE(own.run());
  EXPECT_EQ(heard, 14);
  const Sample& cut = own.done[0].samples[1];
  EXPECT_EQ(cut.reason, FinishReason::Stop);
  const auto& whole = own.want.samples[1];
  EXPECT_EQ(cut.tokens, std::vector<int64_t>(whole.tokens.begin(), whole.tokens.begin() + 14));
  EXPECT_EQ(cut.logprobs, std::vector<float>(whole.logprobs.begin(), whole.logprobs.begin() + 14));
  EXPECT_THAT(cut.entropies, SizeIs(14));
  EXPECT_EQ(own.done[0].samples[0].tokens, own.want.samples[0].tokens);
}

TEST(EngineSpeculation, AbortFromAListenerIsTheLastThatIsHeard) {
  Listened own;
  int heard = 0;
  own.listener.on_token = [&](const TokenEvent& event) {
    EXPECT_TRUE(own.done.empty());
    if (++heard == 9) {
      EXPECT_TRUE(own.engine->abort(event.request).ok());
    }
  };
  ASSERT_NO_FATAL_FAILURE(own.run());
  EXPECT_EQ(heard, 9);
  EXPECT_GE(own.done[0].samples[0].tokens.size(), 9U);
  EXPECT_EQ(own.engine->stats().free_blocks, own.engine->stats().blocks);
}

TEST(EngineSpeculation, RealDraftersKeepTheBitsToo) {
  const Transformer m = model();
  std::vector<GenRequest> requests = some_requests();
  for (GenRequest& r : requests) r.sampling.max_tokens = 120;
  requests[0].sampling.temperature = 0;  // greedy texts of tiny models go in circles
  ScriptedDrafter unused(0);
  EngineOptions roomy = exact_options();
  roomy.blocks = 400;
  const auto want = plain(m, roomy, requests, unused);
  const std::shared_ptr<Drafter> drafters[] = {std::make_shared<NgramDrafter>(),
                                               std::make_shared<HistoryDrafter>(),
                                               std::make_shared<JacobiDrafter>()};
  for (const auto& drafter : drafters) {
    EngineOptions o = roomy;
    o.drafter = drafter;
    o.adapt_drafts = false;
    Runner runner(m, o);
    for (int round = 0; round < 2; ++round) {
      std::vector<RequestId> ids;
      for (const GenRequest& request : requests) ids.push_back(runner.submit(request));
      runner.run();
      for (size_t i = 0; i < ids.size(); ++i) expect_same(runner.done(ids[i]), want[i]);
    }
    EXPECT_GT(runner.engine().stats().accepted_tokens, 0);
  }
  EXPECT_EQ(static_cast<const JacobiDrafter&>(*drafters[2]).size(), 0U) << "all have ended";
}

TEST(EngineSpeculation, FinishedRolloutsAreGuessedFromTheNextTime) {
  const Transformer m = model();
  EngineOptions o = exact_options();
  o.drafter = std::make_shared<HistoryDrafter>();
  Runner runner(m, o);
  runner.complete(drawn_request(prompt(5), 60, 3));
  const int64_t before = runner.engine().stats().accepted_tokens;
  runner.complete(drawn_request(prompt(5), 60, 3));
  EXPECT_GT(runner.engine().stats().accepted_tokens - before, 40);
}

TEST(EngineSpeculation, OddGuessesArePassedOver) {
  const Transformer m = model();
  EngineOptions o = exact_options();
  auto drafter = std::make_shared<ScriptedDrafter>(0);
  drafter->tell(7, 0, {1000, -3, 5});
  o.drafter = drafter;
  Runner runner(m, o);
  Runner want(m, exact_options());
  expect_same(runner.complete(drawn_request(prompt(5), 9)),
              want.complete(drawn_request(prompt(5), 9)));
}

TEST(EngineSpeculation, ModelsWithStatesAreRefused) {
  EngineOptions o = options();
  o.drafter = std::make_shared<NgramDrafter>();
  const VirtualClock clock;
  const auto made = Engine::create(model("qwen3_next"), o, kVersion1, clock);
  EXPECT_THAT(made.status().message(), HasSubstr("without a drafter"));
}

}  // namespace
}  // namespace sluice
