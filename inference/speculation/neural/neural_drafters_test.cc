// Draft models and draft heads behind a real engine.
#include "inference/engine/engine_support.h"
#include "inference/speculation/neural/heads_drafter.h"
#include "inference/speculation/neural/make_drafter.h"
#include "inference/speculation/neural/model_drafter.h"
#include "models/io/safetensors_writer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <filesystem>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

std::vector<GenRequest> requests() {
  std::vector<GenRequest> all = {greedy_request(prompt(7), 30), drawn_request(prompt(5), 30, 3),
                                 drawn_request(prompt(12, 2), 25, 4),
                                 drawn_request(prompt(3, 5), 20, 5)};
  all[2].sampling.n = 3;
  all[2].sampling.temperature = 0.7F;
  all[3].sampling.top_p = 0.9F;
  return all;
}

/// The same tokens and log-probs with the drafter as without one; what the engine counted.
EngineStats expect_unchanged(const Transformer& m, const std::shared_ptr<Drafter>& drafter) {
  Runner plain(m, exact_options());
  EngineOptions o = exact_options();
  o.drafter = drafter;
  Runner guessing(m, o);
  std::vector<std::pair<RequestId, RequestId>> ids;
  for (const GenRequest& r : requests()) ids.emplace_back(plain.submit(r), guessing.submit(r));
  plain.run();
  guessing.run();
  for (const auto& [a, b] : ids) {
    const auto& want = plain.done(a).samples;
    const auto& got = guessing.done(b).samples;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].tokens, want[i].tokens);
      EXPECT_EQ(got[i].logprobs, want[i].logprobs);
    }
  }
  return guessing.engine().stats();
}

std::shared_ptr<ModelDrafter> drafter_of(const Transformer& draft, ModelDrafter::Options o = {}) {
  o.vocabulary = draft.config().vocab_size;
  o.block_size = 4;
  if (o.blocks == 0) o.blocks = 200;
  o.linear = exact_options().linear;
  auto made = ModelDrafter::create(draft, o);
  SLUICE_CHECK(made.ok()) << made.status().message();
  return *made;
}

TEST(ModelDrafter, TheModelItselfGuessesRightAlways) {
  const Transformer m = model();
  const auto drafter = drafter_of(m);
  const EngineStats stats = expect_unchanged(m, drafter);
  EXPECT_GT(stats.drafted_tokens, 60);
  // Where a sample ends at a guess, those behind it were not needed.
  EXPECT_GT(stats.accepted_tokens, stats.drafted_tokens * 9 / 10);
  EXPECT_TRUE(drafter->check().ok());
  EXPECT_EQ(drafter->space().free_blocks(), 200) << "all sequences have ended";
}

TEST(ModelDrafter, AnotherModelChangesNothing) {
  const Transformer m = model();
  const Transformer other(m.config(), other_weights(m, 5));
  const auto drafter = drafter_of(other);
  const EngineStats stats = expect_unchanged(m, drafter);
  EXPECT_GT(stats.drafted_tokens, 0);
  EXPECT_LT(stats.accepted_tokens, stats.drafted_tokens);
  EXPECT_EQ(drafter->space().free_blocks(), 200);
}

TEST(ModelDrafter, FewBlocksAndSlowCatchingUpChangeNothing) {
  const Transformer m = model();
  ModelDrafter::Options o;
  o.blocks = 14;
  o.catch_up = 3;
  const auto drafter = drafter_of(m, o);
  const EngineStats stats = expect_unchanged(m, drafter);
  EXPECT_GT(stats.accepted_tokens, 0);
  EXPECT_TRUE(drafter->check().ok());
  EXPECT_EQ(drafter->space().free_blocks(), 14);
}

TEST(ModelDrafter, WhatCannotGuessForAModelIsRefused) {
  ModelDrafter::Options o;
  o.vocabulary = 65;
  EXPECT_THAT(ModelDrafter::create(model(), o).status().message(), HasSubstr("has 64 tokens"));
  o.vocabulary = 64;
  EXPECT_THAT(ModelDrafter::create(model("qwen3_next"), o).status().message(),
              HasSubstr("linear-attention"));
}

/// A file of heads that goes with its test.
class Heads : public testing::Test {
 protected:
  ~Heads() override { std::filesystem::remove(path_); }
  /// Head i with weight 0 says what `output` says of the state itself.
  void write(const std::vector<at::Tensor>& outputs, bool with_bias = true) {
    const int64_t hidden = model_.config().hidden_size;
    std::vector<std::pair<std::string, at::Tensor>> tensors;
    for (size_t i = 0; i < outputs.size(); ++i) {
      tensors.emplace_back(fmt::format("{}.0.linear.weight", i), at::zeros({hidden, hidden}));
      if (with_bias) tensors.emplace_back(fmt::format("{}.0.linear.bias", i), at::zeros({hidden}));
      if (outputs[i].defined()) tensors.emplace_back(fmt::format("{}.1.weight", i), outputs[i]);
    }
    const Status status = write_safetensors(path_, tensors);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  Result<std::shared_ptr<HeadsDrafter>> load() const {
    return HeadsDrafter::load(path_, model_, model_.config().vocab_size);
  }

  Transformer model_ = model();
  std::string path_ = testing::TempDir() + "heads_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() +
                      ".safetensors";
};

TEST_F(Heads, ChangeNothing) {
  const int64_t hidden = model_.config().hidden_size, vocab = model_.config().vocab_size;
  write({at::Tensor(), at::ones({vocab, hidden}).contiguous()});
  const auto heads = load();
  ASSERT_TRUE(heads.ok()) << heads.status().message();
  EXPECT_EQ((*heads)->heads(), 2U);
  const EngineStats stats = expect_unchanged(model_, *heads);
  EXPECT_GT(stats.drafted_tokens, 0);
  EXPECT_EQ((*heads)->size(), 0U) << "all sequences have ended";
}

TEST_F(Heads, GuessFromTheStateBehindTheNewestToken) {
  const int64_t hidden = model_.config().hidden_size, vocab = model_.config().vocab_size;
  at::Tensor first = at::zeros({vocab, hidden}), second = at::zeros({vocab, hidden});
  first.select(0, 11).select(0, 2).fill_(1);   // token 11 when component 2 is positive
  second.select(0, 7).select(0, 3).fill_(-1);  // token 7 when component 3 is negative
  write({first, second});
  const auto heads = load();
  ASSERT_TRUE(heads.ok()) << heads.status().message();
  const std::vector<int64_t> tokens = {1, 2};
  DraftQuery query;
  query.sequence = 9;
  query.tokens = tokens;
  query.most = 5;
  std::vector<DraftQuery> queries = {query};
  (*heads)->draft(queries);
  EXPECT_TRUE(queries[0].out.empty()) << "nothing was seen of it";
  std::vector<float> state(static_cast<size_t>(hidden), 0);
  state[2] = 1;
  state[3] = -1;
  DraftOutcome outcome;
  outcome.sequence = 9;
  outcome.hidden = state;
  (*heads)->observe(outcome);
  (*heads)->draft(queries);
  EXPECT_EQ(queries[0].out, (std::vector<int64_t>{11, 7}));
  queries[0].out.clear();
  queries[0].most = 1;
  (*heads)->draft(queries);
  EXPECT_EQ(queries[0].out, (std::vector<int64_t>{11}));
}

TEST_F(Heads, FilesThatDoNotFitAreRefused) {
  write({at::zeros({3, 3})});
  EXPECT_THAT(load().status().message(), HasSubstr("'0.1.weight' is [3, 3]"));
  write({at::Tensor()}, false);
  EXPECT_THAT(load().status().message(), HasSubstr("no '0.0.linear.bias'"));
  ASSERT_TRUE(write_safetensors(path_, {{"x", at::zeros({2})}}).ok());
  EXPECT_THAT(load().status().message(), HasSubstr("no '0.0.linear.weight'"));
  std::filesystem::remove(path_);
  EXPECT_EQ(load().status().code(), Code::NotFound);
}

TEST_F(Heads, AreFoundByTheirName) {
  write({at::Tensor()});
  DraftTarget target;
  target.model = &model_;
  target.vocabulary = model_.config().vocab_size;
  EXPECT_TRUE(make_drafter("heads=" + path_, target).ok());
  for (const char* name : {"ngram", "suffix", "jacobi"}) {
    EXPECT_TRUE(make_drafter(name, target).ok()) << name;
  }
  for (const char* name : {"", "medusa", "ngram=3", "draft", "draft=", "heads="}) {
    EXPECT_THAT(make_drafter(name, target).status().message(), HasSubstr("no way to speculate"))
        << name;
  }
  EXPECT_THAT(make_drafter("draft=/nowhere", target).status().message(),
              HasSubstr("draft model /nowhere"));
}

}  // namespace
}  // namespace sluice
