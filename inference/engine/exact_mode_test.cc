// Exact mode: what the engine says of a token has the same bits whatever happened around it, and
// equals what the trainer computes.
#include "inference/engine/engine_support.h"
#include "inference/engine/paged_attention_op.h"
#include "inference/kernels/exact_attention_op.h"
#include "inference/kernels/exact_linear_op.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

namespace sluice {
namespace {

using namespace engine_support;  // NOLINT(google-build-using-namespace)

/// log softmax(logits)[token] of each token behind `from`, by the training forward.
std::vector<float> trained(const Transformer& m, const std::vector<int64_t>& tokens, size_t from) {
  const at::NoGradGuard no_grad;
  const Transformer exact(m.config(), m.parameters(), std::make_shared<ExactLinearOp>(),
                          std::make_shared<ExactAttentionOp>());
  const at::Tensor logits = exact.logits(exact.forward(pack({tokens}))).contiguous();
  const auto vocab = static_cast<size_t>(logits.size(1));
  const auto* row = static_cast<const float*>(logits.const_data_ptr());
  std::vector<float> out;
  TokenSampler sampler;
  for (size_t t = from; t < tokens.size(); ++t) {
    auto score = sampler.score({row + (t - 1) * vocab, vocab}, tokens[t], {});
    SLUICE_CHECK(score.ok());
    out.push_back(score->logprob);
  }
  return out;
}

class ExactMode : public testing::TestWithParam<const char*> {};

TEST_P(ExactMode, LogprobsHaveTheBitsOfTheTrainingForward) {
  const Transformer m = model(GetParam());
  GenRequest request = drawn_request(prompt(21), 12);
  request.sampling.n = 3;
  request.sampling.prompt_logprobs = true;
  Runner runner(m, exact_options());
  const RequestId id = runner.submit(request);
  for (uint64_t i = 0; i < 5; ++i) runner.submit(drawn_request(prompt(9, 20 + i), 9, i));
  runner.run();
  const Completion& done = runner.done(id);
  std::vector<int64_t> tokens = prompt(21);
  const std::vector<float> scored(done.prompt_logprobs.begin() + 1, done.prompt_logprobs.end());
  EXPECT_EQ(scored, trained(m, tokens, 1));
  for (const Sample& sample : done.samples) {
    std::vector<int64_t> all = tokens;
    all.insert(all.end(), sample.tokens.begin(), sample.tokens.end());
    EXPECT_EQ(sample.logprobs_temperature, trained(m, all, 21));
  }
}

TEST_P(ExactMode, BitsDependNeitherOnChunksNorPrefixesForksPreemptionOrBatch) {
  const Transformer m = model(GetParam());
  GenRequest request = drawn_request(prompt(21), 16);
  request.sampling.n = 2;
  Runner plain(m, exact_options());
  const Completion want = plain.complete(request);
  const auto same = [&](const Completion& got, const char* what) {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got.samples[i].tokens, want.samples[i].tokens) << what;
      EXPECT_EQ(got.samples[i].logprobs, want.samples[i].logprobs) << what;
      EXPECT_EQ(got.samples[i].entropies, want.samples[i].entropies) << what;
    }
  };
  same(plain.complete(request), "prefix hit");
  for (const int64_t budget : {1, 5, 16}) {
    EngineOptions o = exact_options();
    o.scheduler.token_budget = budget;
    Runner chunked(m, o);
    same(chunked.complete(request), "chunks");
  }
  EngineOptions tight = exact_options();
  tight.blocks = 12;
  Runner crowded(m, tight);
  RequestId id = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    GenRequest each = i == 2 ? request : drawn_request(prompt(11, 30 + i), 20, i);
    const RequestId own = crowded.submit(each);
    if (i == 2) id = own;
  }
  crowded.run();
  EXPECT_GT(crowded.engine().stats().scheduler.preemptions, 0);
  same(crowded.done(id), "preemption");
}

INSTANTIATE_TEST_SUITE_P(Architectures, ExactMode,
                         testing::Values("llama", "mistral", "qwen3", "gemma2", "gpt2"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ExactMode, FusedPrefillIsEqualUpToRounding) {
  const Transformer m = model();
  EngineOptions o = options();
  o.attention = std::make_shared<PagedAttentionOp>(4);
  Runner fused(m, o);
  Runner plain(m);
  const Sample got = fused.complete(drawn_request(prompt(50), 10)).samples[0];
  const Sample want = plain.complete(drawn_request(prompt(50), 10)).samples[0];
  EXPECT_EQ(got.tokens, want.tokens);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(got.logprobs[i], want.logprobs[i], 1e-4);
}

}  // namespace
}  // namespace sluice
