#include "models/transformer/logprobs/model_logprobs.h"

#include "models/transformer/golden_support.h"
#include "models/transformer/logprobs/next_tokens.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ModelLogprobs, AreThoseOfTheModelsLogits) {
  for (const char* name : {"llama", "gemma2"}) {  // the second has a softcap and a tied head
    SCOPED_TRACE(name);
    auto loaded = golden::load(name);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    const Transformer& model = loaded->model;
    const PackedBatch& batch = loaded->batch;
    const LogprobOptions options{.temperature = 0.6, .entropy = true, .tile = 100};
    const auto got = token_logprobs(model, batch, options);
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    const at::Tensor all = (model.logits(model.forward(batch)) / 0.6).log_softmax(1);
    const at::Tensor targets = next_tokens(batch);
    const at::Tensor counts = targets.ge(0);
    const at::Tensor want =
        all.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1).masked_fill(~counts, 0);
    EXPECT_TRUE(at::allclose(got->logprob, want, 1e-5, 1e-5));
    EXPECT_TRUE(at::allclose(got->entropy, (-(all.exp() * all).sum(1)).masked_fill(~counts, 0),
                             1e-5, 1e-5));
    EXPECT_EQ(counts.sum().item<int64_t>(), batch.total_tokens() - batch.sequences());
  }
}

TEST(ModelLogprobs, NeedALanguageHead) {
  auto loaded = golden::load("llama_classifier");
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(token_logprobs(loaded->model, loaded->batch).status().code(), Code::FailedPrecondition);
}

}  // namespace
}  // namespace sluice
