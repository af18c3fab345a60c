#include "dataflow/base/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kKnown{"ppo.gamma", "ppo.lambda", "ppo.epochs", "rollout.ring"};

TEST(Nearest, FindsSlipsOfThePen) {
  EXPECT_THAT(nearest("ppo.gama", kKnown, 1), ElementsAre("ppo.gamma"));
  EXPECT_THAT(nearest("ppo.gmama", kKnown, 1), ElementsAre("ppo.gamma"));
  EXPECT_THAT(nearest("PPO.Epochs", kKnown, 1), ElementsAre("ppo.epochs"));
}

TEST(Nearest, FindsPrefixesAndLastParts) {
  EXPECT_THAT(nearest("ring", kKnown), ElementsAre("rollout.ring"));
  EXPECT_THAT(nearest("rollout", kKnown), ElementsAre("rollout.ring"));
}

TEST(Nearest, PutsTheBestFirstAndStopsAtCount) {
  const std::vector<std::string> known{"abcf", "abcd", "abce", "abc"};
  EXPECT_THAT(nearest("abcd", known, 2), ElementsAre("abcd", "abcf"));
}

TEST(Nearest, LeavesOutWhatIsFarOff) {
  EXPECT_THAT(nearest("temperature", kKnown), IsEmpty());
  EXPECT_THAT(nearest("x", {}), IsEmpty());
}

TEST(DidYouMean, ListsTheCandidates) {
  EXPECT_EQ(did_you_mean("temperature", kKnown), "");
  EXPECT_EQ(did_you_mean("ppo.gama", std::vector<std::string>{"ppo.gamma"}),
            ", did you mean 'ppo.gamma'?");
  EXPECT_EQ(did_you_mean("abcx", std::vector<std::string>{"abca", "abcb", "abcc"}),
            ", did you mean 'abca', 'abcb' or 'abcc'?");
}

}  // namespace
}  // namespace sluice
