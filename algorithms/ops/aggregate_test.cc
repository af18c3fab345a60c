#include "algorithms/ops/aggregate.h"

#include "dataflow/base/result.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

namespace sluice {
namespace {

at::Tensor doubles(const std::vector<double>& v) {
  return at::tensor(v, at::TensorOptions(at::kDouble));
}
at::Tensor ids(const std::vector<int64_t>& v) {
  return at::tensor(v, at::TensorOptions(at::kLong));
}

double value(const at::Tensor& losses, const at::Tensor& sequence, Aggregation how,
             int64_t max_length = 0) {
  const Denominator all = count_tokens({}, sequence, max_length);
  return aggregate(losses, {}, sequence, how, all).item<double>();
}

TEST(Aggregate, FourModesOfOneAndThreeTokens) {
  const at::Tensor losses = doubles({4, 1, 1, 1}), sequence = ids({0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(value(losses, sequence, Aggregation::TokenMean), 1.75);
  EXPECT_DOUBLE_EQ(value(losses, sequence, Aggregation::SequenceMeanTokenMean), 2.5);
  EXPECT_DOUBLE_EQ(value(losses, sequence, Aggregation::SequenceMeanTokenSum), 3.5);
  EXPECT_DOUBLE_EQ(value(losses, sequence, Aggregation::SequenceMeanTokenScale, 4), .875);
}

TEST(Aggregate, MicroBatchesAddUpToTheGlobalMeanNotToTheMeanOfMeans) {
  const at::Tensor a = at::full({4}, 2.0, at::kDouble), b = at::full({12}, .5, at::kDouble);
  const at::Tensor of_a = at::zeros({4}, at::kLong), of_b = at::zeros({12}, at::kLong);
  Denominator all = count_tokens({}, of_a);
  all.add(count_tokens({}, of_b));
  EXPECT_EQ(all.tokens, 16);
  EXPECT_EQ(all.sequences, 2);
  const double sum = (aggregate(a, {}, of_a, Aggregation::TokenMean, all) +
                      aggregate(b, {}, of_b, Aggregation::TokenMean, all))
                         .item<double>();
  EXPECT_DOUBLE_EQ(sum, .875);
}

TEST(Aggregate, MaskedRowsMayHoldAnythingAndGetNoGradient) {
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor x =
      doubles({1, -inf, 2, std::numeric_limits<double>::quiet_NaN()}).requires_grad_(true);
  const at::Tensor mask = ids({1, 0, 1, 0}).to(at::kBool), sequence = ids({0, 0, 1, 1});
  for (const Aggregation how : {Aggregation::TokenMean, Aggregation::SequenceMeanTokenMean}) {
    const at::Tensor loss = aggregate(x.exp(), mask, sequence, how, count_tokens(mask, sequence));
    EXPECT_NEAR(loss.item<double>(), (std::exp(1) + std::exp(2)) / 2, 1e-12);
    const at::Tensor gradient = torch::autograd::grad({loss}, {x})[0];
    // exp's own backward multiplies: what it is given at masked rows must be exactly 0 for -inf.
    EXPECT_EQ(gradient[1].item<double>(), 0);
    EXPECT_NEAR(gradient[2].item<double>(), std::exp(2) / 2, 1e-12);
  }
}

TEST(Aggregate, SequencesWithoutATokenThatCountsAreNotCounted) {
  const at::Tensor mask = ids({0, 0, 1}).to(at::kBool), sequence = ids({0, 0, 1});
  const Denominator d = count_tokens(mask, sequence);
  EXPECT_EQ(d.tokens, 1);
  EXPECT_EQ(d.sequences, 1);
  EXPECT_DOUBLE_EQ(
      aggregate(doubles({9, 9, 3}), mask, sequence, Aggregation::SequenceMeanTokenMean, d)
          .item<double>(),
      3);
}

TEST(Aggregate, NothingThatCountsIsALossOfZeroWithAGradientOfZero) {
  const at::Tensor x = doubles({1, 2}).requires_grad_(true);
  const at::Tensor mask = at::zeros({2}, at::kBool), sequence = ids({0, 1});
  for (const Aggregation how :
       {Aggregation::TokenMean, Aggregation::SequenceMeanTokenMean,
        Aggregation::SequenceMeanTokenSum, Aggregation::SequenceMeanTokenScale}) {
    const at::Tensor loss = aggregate(x, mask, sequence, how, count_tokens(mask, sequence, 8));
    EXPECT_EQ(loss.item<double>(), 0);
    EXPECT_TRUE(torch::autograd::grad({loss}, {x})[0].eq(0).all().item<bool>());
  }
}

TEST(Aggregate, ConstantLengthMustBeSet) {
  EXPECT_THROW((void)Denominator{}.divisor(Aggregation::SequenceMeanTokenScale), CheckFailure);
}

TEST(TokenRows, SumsMeansAndSpreadsFollowTheSequences) {
  const at::Tensor sequence = ids({3, 3, 5, 7, 7}), mask = ids({1, 1, 0, 1, 0}).to(at::kBool);
  const TokenRows rows(mask, sequence);
  EXPECT_EQ(rows.tokens(), 3);
  EXPECT_EQ(rows.sequences(), 2);
  const at::Tensor x = rows.select(doubles({1, 2, 100, 5, 100}));
  EXPECT_TRUE(at::equal(rows.sum(x), doubles({3, 5})));
  EXPECT_TRUE(at::equal(rows.mean(x), doubles({1.5, 5})));
  EXPECT_TRUE(at::equal(rows.spread(doubles({7, 8})), doubles({7, 7, 8})));
  EXPECT_FALSE(rows.select({}).defined());
}

}  // namespace
}  // namespace sluice
