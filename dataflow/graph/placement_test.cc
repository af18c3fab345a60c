#include "dataflow/graph/placement.h"

#include "dataflow/graph/test_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Placement, PlacesEveryWorkerOnceByDefault) {
  const Placement p = Placement::one_process();
  EXPECT_EQ(p.replicas("rollout"), 1);
  EXPECT_EQ(p.threads("rollout"), 1);
  EXPECT_EQ(p.host("rollout"), "rollout");
}

TEST(Placement, CoLocatedWorkerFollowsTheCountOfItsHost) {
  Placement p;
  p.put("rollout", 3);
  p.together("policy", "rollout").together("helper", "policy");
  EXPECT_EQ(p.replicas("helper"), 3);
  EXPECT_EQ(p.host("helper"), "rollout");
}

TEST(Placement, PairsAServiceWithinAReplicatedGroup) {
  const Graph g = good_graph();
  Placement p;
  p.put("rollout", 2);
  p.together("policy", "rollout");
  EXPECT_EQ(p.channel_instance(g, "act", 1), "act#1");
  EXPECT_EQ(p.channel_instance(g, "samples", 1), "samples");
  EXPECT_EQ(p.senders(g, "act"), 1);
  EXPECT_EQ(p.senders(g, "samples"), 2);
}

TEST(Placement, SharesAServiceWhoseServerRunsElsewhere) {
  const Graph g = good_graph();
  Placement p;
  p.put("rollout", 2);
  p.together("policy", "trainer");
  EXPECT_EQ(p.channel_instance(g, "act", 1), "act");
  EXPECT_EQ(p.senders(g, "act"), 2);
}

TEST(Placement, SharesAServiceThatAnOutsiderAlsoAsks) {
  Graph g = good_graph();
  g.add("evaluator", Rollout{})
      .asks(Service<Obs, Act>(g.channels()[0].get()))
      .writes(Stream<Traj>(g.channels()[1].get()));
  Placement p;
  p.put("rollout", 2);
  p.together("policy", "rollout");
  EXPECT_EQ(p.channel_instance(g, "act", 0), "act");
}

TEST(PlacementCheck, ReportsUnknownHostCycleAndCount) {
  const Graph g = good_graph();
  Placement unknown;
  unknown.together("policy", "rolout");
  EXPECT_THAT(g.problems(unknown), Contains(HasSubstr("did you mean 'rollout'?")));
  Placement cycle;
  cycle.together("policy", "rollout").together("rollout", "policy");
  EXPECT_THAT(g.problems(cycle), Contains(HasSubstr("which leads back to 'policy'")));
  Placement count;
  count.put("rollout", 2);
  count.put("policy", 3);
  count.together("policy", "rollout");
  EXPECT_THAT(g.problems(count), Contains(HasSubstr("has 3 replicas but runs together with")));
  Placement same;
  same.put("rollout", 2);
  same.put("policy", 2);
  same.together("policy", "rollout");
  EXPECT_THAT(g.problems(same), IsEmpty());
}

TEST(Placement, BindsKeysForEveryWorkerOfTheGraph) {
  const Graph g = good_graph();
  Placement p;
  ConfigBinder b;
  p.bind(b, g);
  EXPECT_TRUE(b.set("placement.rollout.replicas", "4", "--set").ok());
  EXPECT_TRUE(b.set("placement.policy.with", "rollout", "--set").ok());
  EXPECT_EQ(p.replicas("policy"), 4);
  EXPECT_FALSE(b.set("placement.rollout.threads", "0", "--set").ok());
}

}  // namespace
}  // namespace sluice::testing
