#include "models/transformer/logprobs/next_tokens.h"

#include "models/transformer/logprobs/token_logprobs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {
PackedBatch three_sequences() {
  PackedBatch batch;
  batch.tokens = at::tensor({10, 11, 12, 20, 30, 31}, at::kLong);
  batch.positions = at::tensor({0, 1, 2, 0, 0, 1}, at::kLong);
  batch.cu_seqlens = {0, 3, 4, 6};
  return batch;
}

TEST(NextTokens, StayInsideTheirSequence) {
  const at::Tensor targets = next_tokens(three_sequences());
  EXPECT_TRUE(at::equal(targets, at::tensor({11, 12, -100, -100, 31, -100}, at::kLong)));
}

TEST(NextTokens, LeaveTheBatchAsItWas) {
  const PackedBatch batch = three_sequences();
  (void)next_tokens(batch);
  EXPECT_TRUE(at::equal(batch.tokens, three_sequences().tokens));
}

TEST(NextTokens, AskOnlyForTrainedTokens) {
  const at::Tensor trained = at::tensor({1, 0, 1, 1, 1, 1}, at::kLong).to(at::kBool);
  // Token 12 is asked for by its row 1; token 10 and 20 have no row that predicts them.
  EXPECT_TRUE(at::equal(next_tokens(three_sequences(), trained),
                        at::tensor({-100, 12, -100, -100, 31, -100}, at::kLong)));
}

TEST(NextTokens, PromptOfThreeAndAnswerOfTwoUseRowsTwoAndThree) {
  PackedBatch batch;
  batch.tokens = at::tensor({1, 2, 3, 4, 5}, at::kLong);
  batch.cu_seqlens = {0, 5};
  const at::Tensor trained = at::tensor({0, 0, 0, 1, 1}, at::kLong).to(at::kBool);
  EXPECT_TRUE(
      at::equal(next_tokens(batch, trained), at::tensor({-100, -100, 4, 5, -100}, at::kLong)));
}

TEST(NextTokens, EmptySequencesAndBatchesAreFine) {
  PackedBatch batch = three_sequences();
  batch.cu_seqlens = {0, 0, 3, 4, 4, 6, 6};
  EXPECT_TRUE(at::equal(next_tokens(batch), next_tokens(three_sequences())));
  batch.tokens = at::empty({0}, at::kLong);
  batch.cu_seqlens = {0};
  EXPECT_EQ(next_tokens(batch).numel(), 0);
}

TEST(ByToken, MovesEachValueToTheTokenItIsAbout) {
  const at::Tensor values = at::tensor({1., 2., 3., 4., 5., 6.}).requires_grad_();
  const at::Tensor moved = by_token(three_sequences(), values);
  EXPECT_TRUE(at::equal(moved, at::tensor({0., 1., 2., 0., 0., 5.})));
  moved.sum().backward();
  EXPECT_TRUE(at::equal(values.grad(), at::tensor({1., 1., 0., 0., 1., 0.})));
}

TEST(ByToken, SelectsSoThatAValueOfNoTokenCannotSpread) {
  at::Tensor values = at::ones({6});
  values[5] = NAN;  // the last row wraps around to the first token
  EXPECT_TRUE(by_token(three_sequences(), values).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace sluice
