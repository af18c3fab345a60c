#include "dataflow/graph/graph.h"

#include "dataflow/graph/test_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Graph, AcceptsACompleteGraph) {
  const Graph g = good_graph();
  EXPECT_THAT(g.problems(Placement::one_process()), IsEmpty());
  EXPECT_TRUE(g.check(Placement::one_process()).ok());
}

TEST(Graph, SettersReachThePolicyInAnyOrder) {
  Graph g{"x"};
  auto a = g.stream<Traj>("a").max_staleness(2, OnStale::Error).capacity(7).reuse(3);
  auto b = g.stream<Traj>("b").reuse(3).capacity(7).max_staleness(2, OnStale::Error);
  for (const auto* p : {&a.decl().stream, &b.decl().stream}) {
    EXPECT_EQ(p->capacity, 7);
    EXPECT_EQ(p->reuse, 3);
    EXPECT_EQ(p->max_staleness, 2);
    EXPECT_EQ(p->on_stale, OnStale::Error);
  }
  const auto s = g.service<Obs, Act>("s")
                     .deadline(std::chrono::seconds(2))
                     .batch(up_to(5), within(std::chrono::microseconds(3)));
  EXPECT_EQ(s.decl().service.deadline(), 2 * kSecond);
  EXPECT_EQ(s.decl().service.batch_limit, 5);
  EXPECT_EQ(s.decl().service.batch_within(), 3 * kMicrosecond);
}

TEST(Graph, HandlesStayValidWhenTheGraphMoves) {
  Graph g{"x"};
  auto s = g.stream<Traj>("s");
  const Graph moved = std::move(g);
  s.capacity(3);
  EXPECT_EQ(moved.channel("s")->stream.capacity, 3);
}

TEST(GraphCheck, ReportsAMissingPortByWorkerVerbAndPayload) {
  Graph g{"x"};
  auto act = g.service<Obs, Act>("act");
  g.add("rollout", Rollout{}).asks(act);
  g.add("policy", Policy{}).serves(act);
  EXPECT_THAT(g.problems({}),
              ElementsAre("worker 'rollout' must write a stream of Traj, but .writes() was never "
                          "called for it"));
}

TEST(GraphCheck, ListsAllProblemsAtOnce) {
  Graph g{"x"};
  auto act = g.service<Obs, Act>("act");
  auto samples = g.stream<Traj>("samples").max_staleness(0).when_full(WhenFull::DropOldest);
  auto weights = g.latest<Params>("weights");
  g.stream<Traj>("samples");
  Rollout bad;
  bad.horizon = 0;
  g.add("rollout", bad).asks(act).writes(samples).writes(samples);
  g.add("trainer", Trainer{}).reads(samples).publishes(weights);
  g.add("trainer", Trainer{}).reads(samples).publishes(weights);
  Placement p;
  p.put("rolout", 2);
  const auto problems = g.problems(p);
  for (const char* part :
       {"two workers are called 'trainer'", "two channels are called 'samples'",
        "worker 'rollout': horizon must be at least 1", "'rollout' writes 2 channels of Traj",
        "service 'act': nobody serves it", "stream 'samples': nobody writes it",
        "stream 'samples': max_staleness 0 with when_full drop_oldest",
        "latest 'weights': nobody follows it", "latest 'weights': 'trainer', 'trainer' publish it",
        "no worker 'rolout', did you mean 'rollout'?"}) {
    EXPECT_THAT(problems, Contains(HasSubstr(part)));
  }
}

TEST(GraphCheck, ComparesTheSchemasOfBothEnds) {
  Graph g{"x"};
  auto act = g.service<Obs, Act>("act");
  auto samples = g.stream<Traj>("samples");
  auto weights = g.latest<Params>("weights");
  Policy three;
  three.obs_size = 3;
  g.add("rollout", Rollout{}).asks(act).writes(samples);
  g.add("policy", three).serves(act).follows(weights);
  g.add("trainer", Trainer{}).reads(samples).publishes(weights);
  EXPECT_THAT(g.problems({}),
              ElementsAre("channel 'act': worker 'rollout' asks with obs float32[4] but worker "
                          "'policy' serves obs float32[3]"));
}

TEST(GraphCheck, ReportsPolicyProblemsUnderTheChannelsName) {
  Graph g = good_graph();
  Stream<Traj>(g.channels()[1].get()).capacity(0);
  EXPECT_THAT(g.problems({}), Contains(HasSubstr("stream 'samples': ")));
}

TEST(GraphCheck, RefusesVersionRulesOnTheStreamThatABufferReads) {
  const auto problems = [](auto set_fresh, auto set_samples) {
    Graph g{"buffered"};
    auto act = g.service<Obs, Act>("act");
    auto fresh = g.stream<Traj>("fresh").capacity(8);
    auto samples = g.stream<Traj>("samples").capacity(8);
    set_fresh(fresh);
    set_samples(samples);
    auto weights = g.latest<Params>("weights");
    g.add("rollout", Rollout{}).asks(act).writes(fresh);
    g.add("replay", Buffer{}).reads(fresh).writes(samples);
    g.add("policy", Policy{}).serves(act).follows(weights);
    g.add("trainer", Trainer{}).reads(samples).publishes(weights);
    return g.problems({});
  };
  const auto nothing = [](auto&) {};
  EXPECT_THAT(problems(nothing, nothing), IsEmpty());
  EXPECT_THAT(problems(nothing, [](auto& s) { s.admit_ahead(1, 4).max_staleness(1); }), IsEmpty());
  EXPECT_THAT(problems([](auto& s) { s.admit_ahead(1, 4); }, nothing),
              ElementsAre(AllOf(HasSubstr("stream 'fresh'"), HasSubstr("admit_ahead 1"),
                                HasSubstr("'replay' is a buffer"), HasSubstr("first 8 items"))));
  EXPECT_THAT(problems([](auto& s) { s.max_staleness(3); }, nothing),
              ElementsAre(AllOf(HasSubstr("stream 'fresh'"), HasSubstr("max_staleness 3"),
                                HasSubstr("'replay' is a buffer"))));
}

TEST(GraphCheck, RefusesAChannelOfAnotherGraph) {
  Graph other{"other"};
  auto foreign = other.service<Obs, Act>("foreign");
  Graph g = good_graph();
  g.add("second", Policy{}).serves(foreign);
  EXPECT_THAT(g.problems({}), Contains(HasSubstr("which belongs to another graph")));
}

TEST(GraphCheck, RefusesSeveralReplicasOfAPublisher) {
  Placement p;
  p.put("trainer", 2);
  EXPECT_THAT(good_graph().problems(p),
              ElementsAre(HasSubstr("its publisher 'trainer' has 2 replicas")));
}

TEST(Graph, PortChannelsFollowPortOrderWithGapsForOptionalPorts) {
  Graph g{"x"};
  auto act = g.service<Obs, Act>("act");
  auto a = g.stream<Traj>("a");
  auto b = g.stream<Traj>("b");
  g.add("policy", Policy{}).serves(act);
  g.add("trainer", Trainer{}).reads(b).reads(a);
  EXPECT_THAT(g.ports("policy").of(Verb::Serves), ElementsAre("act"));
  EXPECT_THAT(g.ports("policy").of(Verb::Follows), ElementsAre(""));
  EXPECT_THAT(g.ports("trainer").of(Verb::Reads), ElementsAre("b", "a"));
}

TEST(Graph, DotTellsTheChannelKindsApart) {
  const std::string dot = good_graph().dot();
  EXPECT_THAT(dot, HasSubstr("\"rollout\" -> \"policy\" [style=dashed, dir=both, label=\"act: Obs "
                             "-> Act\\nbatch 8 within 1ms\"]"));
  EXPECT_THAT(dot, HasSubstr("\"rollout\" -> \"trainer\" [style=solid"));
  EXPECT_THAT(dot, HasSubstr("\"trainer\" -> \"policy\" [style=dotted"));
}

TEST(Graph, DescribeShowsReplicasLoopsChannelsAndMemory) {
  Placement p;
  p.put("rollout", 2).threads(3);
  p.together("policy", "rollout");
  const std::string text = good_graph().describe(p);
  EXPECT_THAT(text,
              HasSubstr("rollout (rollout): 2 replicas, 3 threads each, memory 2.0 KiB each"));
  EXPECT_THAT(text, HasSubstr("2 x [rollout, policy]"));
  EXPECT_THAT(text, HasSubstr("1 x [trainer]"));
  EXPECT_THAT(text, HasSubstr("service act (Obs -> Act): rollout -> policy; batch 8 within 1ms; "
                              "local transport, paired by replica"));
  EXPECT_THAT(text, HasSubstr("estimated memory 4.0 KiB"));
}

TEST(Graph, BindsFieldsOfWorkersAndChannels) {
  Graph g = good_graph();
  ConfigBinder b;
  g.bind(b);
  EXPECT_TRUE(b.set("samples.capacity", "9", "--set").ok());
  EXPECT_EQ(g.channel("samples")->stream.capacity, 9);
  EXPECT_TRUE(b.set("rollout.horizon", "5", "--set").ok());
  EXPECT_TRUE(b.knows("act.batch_limit"));
}

}  // namespace
}  // namespace sluice::testing
