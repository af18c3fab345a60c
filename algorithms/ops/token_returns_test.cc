#include "algorithms/ops/token_returns.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace sluice {
namespace {

using Values = std::vector<double>;

at::Tensor doubles(const Values& v) { return at::tensor(v, at::TensorOptions(at::kDouble)); }
at::Tensor ids(const std::vector<int64_t>& v) {
  return at::tensor(v, at::TensorOptions(at::kLong));
}
at::Tensor flags(const std::vector<int64_t>& v) { return ids(v).to(at::kBool); }

void expect_near(const at::Tensor& got, const Values& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.numel(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[static_cast<int64_t>(i)].item<double>(), want[i], tolerance) << i;
  }
}

TEST(TokenRewards, KlLowersTheRewardOfEachTokenAndTheScoreComesLast) {
  const at::Tensor sequence = ids({0, 0, 0});
  const at::Tensor r = token_rewards(Values{1}, doubles({.2, -.1, .3}), .1, {}, sequence);
  expect_near(r, {-.02, .01, .97});
  expect_near(discounted_returns(r, {}, sequence, 1), {.96, .98, .97});
}

TEST(TokenRewards, TheScoreGoesToTheLastTokenThatCounts) {
  const at::Tensor mask = flags({1, 1, 0, 0, 0, 1}), sequence = ids({0, 0, 0, 1, 1, 2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor kl = doubles({1, 2, nan, nan, nan, 4});
  expect_near(token_rewards(Values{10, 20, 30}, kl, .5, mask, sequence),
              {-.5, 9, 0, 0, 0, 28});  // the second rollout has nothing to reward
}

TEST(DiscountedReturns, ARewardOnAToolTokenBelongsToTheTrainedTokenBeforeIt) {
  const at::Tensor mask = flags({1, 1, 0, 1, 0}), sequence = ids({0, 0, 0, 0, 0});
  expect_near(discounted_returns(doubles({0, 0, 2, 0, 1}), mask, sequence, 1), {3, 3, 0, 1, 0});
  // Tool tokens cost no discount.
  expect_near(discounted_returns(doubles({0, 0, 2, 0, 1}), mask, sequence, .5),
              {1.25, 2.5, 0, 1, 0});
}

TEST(DiscountedReturns, RolloutsDoNotRunIntoEachOther) {
  expect_near(discounted_returns(doubles({1, 2, 4, 8}), {}, ids({0, 0, 1, 1}), 1), {3, 2, 12, 8});
}

TEST(TokenGae, WorkedNumbers) {
  const at::Tensor r = doubles({0, 0, 1}), v = doubles({.5, .6, .7}), s = ids({0, 0, 0});
  const Gae g = token_gae(r, v, {}, s, 1, .95);
  expect_near(g.advantage, {.46575, .385, .3});
  expect_near(g.returns, {.96575, .985, 1});
  expect_near(token_gae(r, v, {}, s, 1, 1).advantage, {.5, .4, .3});
  expect_near(token_gae(r, v, {}, s, .99, .95).advantage, {.446829, .37515, .3}, 5e-7);
}

TEST(TokenGae, ToolOutputIsPassedThroughAndItsValueNeverRead) {
  const at::Tensor mask = flags({1, 0, 1}), s = ids({0, 0, 0});
  for (const double value : {99.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Gae g = token_gae(doubles({0, 0, 1}), doubles({.5, value, .7}), mask, s, 1, .95);
    expect_near(g.advantage, {.485, 0, .3});
  }
}

TEST(TokenGae, ARewardOnAToolTokenIsKept) {
  const at::Tensor mask = flags({1, 1, 0}), s = ids({0, 0, 0});
  const Gae moved = token_gae(doubles({0, 0, 1}), doubles({.5, .6, 0}), mask, s, 1, 1);
  expect_near(moved.returns, {1, 1, 0});
}

TEST(TokenGae, BootstrapsTruncatedRolloutsOnly) {
  const at::Tensor s = ids({0, 0, 1, 1}), r = doubles({0, 0, 0, 0}), v = doubles({1, 1, 1, 1});
  const Gae g = token_gae(r, v, {}, s, .5, 1, Values{0, 4});
  expect_near(g.returns, {0, 0, 1, 2});
}

TEST(Whiten, UsesTheUnbiasedVarianceOfTheTokensThatCount) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_near(whiten(doubles({1, 2, 3, 4}), {}), {-1.161895, -.387298, .387298, 1.161895}, 5e-7);
  expect_near(whiten(doubles({1, nan, 2, 3, 4}), flags({1, 0, 1, 1, 1})),
              {-1.161895, 0, -.387298, .387298, 1.161895}, 5e-7);
}

TEST(Whiten, OneTokenIsCentredAndNoTokenIsNoError) {
  expect_near(whiten(doubles({5}), {}), {0});
  expect_near(whiten(doubles({5, 6}), flags({0, 0})), {0, 0});
  EXPECT_EQ(whiten(doubles({}), {}).numel(), 0);
}

}  // namespace
}  // namespace sluice
