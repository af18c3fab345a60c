#include "algorithms/ops/gae.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

namespace sluice {
namespace {

using Four = std::array<float, 4>;
using Flags = std::array<uint8_t, 4>;
constexpr Four kReward{1, 1, 1, 1};
constexpr Four kValue{.5F, .6F, .7F, .8F};

void expect_advantages(Flags terminated, Flags truncated, Four bootstrap,
                       std::array<double, 4> expected) {
  Four advantage{}, returns{};
  gae({kReward.data(), kValue.data(), terminated.data(), truncated.data(), bootstrap.data()}, 4,
      0.99, 0.95, advantage.data(), returns.data());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(advantage[i]), expected[i], 2e-6) << i;
    EXPECT_NEAR(static_cast<double>(returns[i]), expected[i] + static_cast<double>(kValue[i]), 2e-6)
        << i;
  }
}

TEST(Gae, RunsThroughWhenNothingEnds) {
  expect_advantages({}, {}, {99, 99, 99, .9F}, {3.995498, 3.085059, 2.118086, 1.091});
}

TEST(Gae, TerminationCutsTheSumAndTheValue) {
  expect_advantages({0, 1, 0, 0}, {}, {99, 99, 99, .9F}, {1.4702, 0.4, 2.118086, 1.091});
}

TEST(Gae, TruncationBootstrapsFromTheFinalObservation) {
  expect_advantages({}, {0, 1, 0, 0}, {99, 2, 99, .9F}, {3.33239, 2.38, 2.118086, 1.091});
}

TEST(Gae, TerminationWinsOverTruncation) {
  expect_advantages({0, 1, 0, 0}, {0, 1, 0, 0}, {99, 2, 99, .9F}, {1.4702, 0.4, 2.118086, 1.091});
}

TEST(Gae, ATruncatedLastStepUsesItsBootstrapOnce) {
  expect_advantages({}, {0, 0, 0, 1}, {99, 99, 99, .9F}, {3.995498, 3.085059, 2.118086, 1.091});
}

TEST(Gae, ATerminatedLastStepIgnoresTheBootstrap) {
  expect_advantages({0, 0, 0, 1}, {}, {99, 99, 99, 99}, {3.2542665, 2.2969341, 1.2801, 0.2});
}

TEST(Gae, TensorsOfSeveralAgentsGiveEachItsOwnSums) {
  const auto column = [](Four a, Four b) {
    return at::stack({at::tensor(at::ArrayRef<float>(a)), at::tensor(at::ArrayRef<float>(b))}, 1);
  };
  const auto [advantage, returns] =
      gae(column(kReward, kReward), column(kValue, kValue), column({0, 0, 0, 0}, {0, 1, 0, 0}),
          at::zeros({4, 2}), column({0, 0, 0, .9F}, {0, 0, 0, .9F}), 0.99, 0.95);
  EXPECT_NEAR(advantage[0][0].item<double>(), 3.995498, 2e-6);
  EXPECT_NEAR(advantage[0][1].item<double>(), 1.4702, 2e-6);
  EXPECT_NEAR(returns[1][0].item<double>(), 3.685059, 2e-6);
}

}  // namespace
}  // namespace sluice
