#include "dataflow/graph/worker_context.h"

#include "dataflow/graph/test_specs.h"
#include "dataflow/transport/local_transport.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using testing::Act;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Obs;
using testing::Params;
using testing::Traj;

/// Every channel carries what its name says.
class Opener final : public ChannelOpener {
 public:
  VirtualClock clock;
  MetricRegistry metrics;
  LocalTransport transport{clock, metrics};
  ReplicaId asked;

  Result<Route<StreamSpec>> stream(std::string_view channel, const ReplicaId& who) override {
    if (channel == "lost") return error(Code::Unavailable, "no host");
    asked = who;
    return Route<StreamSpec>{&transport, {std::string(channel), "Traj", {}, 1, 0}};
  }
  Result<Route<ServiceSpec>> service(std::string_view channel, const ReplicaId&) override {
    return Route<ServiceSpec>{&transport, {std::string(channel), "Obs -> Act", {}, 1}};
  }
  Result<Route<LatestSpec>> latest(std::string_view channel, const ReplicaId&) override {
    return Route<LatestSpec>{&transport, {std::string(channel), "Params"}};
  }
};

class WorkerContextTest : public ::testing::Test {
 protected:
  WorkerContext context(std::string worker = "w", int64_t replica = 0, int64_t attempt = 0,
                        uint64_t seed = 9) {
    PortChannels ports;
    ports.of(Verb::Writes) = {"samples", "", "lost"};
    ports.of(Verb::Reads) = {"samples"};
    ports.of(Verb::Asks) = {"act"};
    ports.of(Verb::Serves) = {"act"};
    ports.of(Verb::Publishes) = {"weights"};
    ports.of(Verb::Follows) = {"weights"};
    return WorkerContext({.who = {std::move(worker), replica},
                          .replicas = 4,
                          .threads = 1,
                          .attempt = attempt,
                          .seed = seed,
                          .ports = std::move(ports),
                          .clock = &opener_.clock,
                          .waker = &waker_,
                          .metrics = &opener_.metrics,
                          .run = &run_,
                          .opener = &opener_});
  }

  Opener opener_;
  Waker waker_;
  RunControl run_;
};

TEST_F(WorkerContextTest, OpensBothEndsOfEveryKindOfChannel) {
  auto c = context("rollout", 2);
  auto reader = c.reader<Traj>();
  auto writer = c.writer<Traj>();
  ASSERT_TRUE(reader.ok() && writer.ok());
  EXPECT_EQ(opener_.asked, (ReplicaId{"rollout", 2}));
  std::shared_ptr<const Traj> item = std::make_shared<Traj>();
  EXPECT_EQ(writer->try_put(item, {}), PutResult::Accepted);
  EXPECT_EQ(reader->depth(), 1) << "both ends must be of one channel";
  EXPECT_TRUE((c.client<Obs, Act>()).ok());
  EXPECT_TRUE((c.server<Obs, Act>()).ok());
  EXPECT_TRUE(c.publisher<Params>().ok());
  EXPECT_TRUE(c.follower<Params>().ok());
}

TEST_F(WorkerContextTest, WrongPayloadIsRefusedNamingBoth) {
  auto c = context("rollout");
  const auto writer = c.writer<Obs>();
  ASSERT_EQ(writer.status().code(), Code::InvalidArgument);
  EXPECT_THAT(writer.status().message(), AllOf(HasSubstr("'rollout'"), HasSubstr("'samples'"),
                                               HasSubstr("as Obs"), HasSubstr("carries Traj")));
  EXPECT_EQ((c.client<Act, Obs>()).status().code(), Code::InvalidArgument);
  EXPECT_EQ(c.follower<Traj>().status().code(), Code::InvalidArgument);
}

TEST_F(WorkerContextTest, PortThatIsNotConnectedIsNotFound) {
  auto c = context();
  EXPECT_FALSE(c.connected(Verb::Writes, 1));
  EXPECT_EQ(c.channel(Verb::Writes, 1), "");
  EXPECT_EQ(c.writer<Traj>(1).status().code(), Code::NotFound);
  EXPECT_FALSE(c.connected(Verb::Reads, 7)) << "nor is one there is not";
  const auto reader = c.reader<Traj>(7);
  ASSERT_EQ(reader.status().code(), Code::NotFound);
  EXPECT_THAT(reader.status().message(), AllOf(HasSubstr("reads nothing"), HasSubstr("port 7")));
  EXPECT_TRUE(c.connected(Verb::Writes, 0));
  EXPECT_EQ(c.ports(Verb::Writes), 3U);
}

TEST_F(WorkerContextTest, RouteThatCannotBeHadNamesTheChannel) {
  const auto writer = context().writer<Traj>(2);
  ASSERT_EQ(writer.status().code(), Code::Unavailable);
  EXPECT_THAT(writer.status().message(), AllOf(HasSubstr("'lost'"), HasSubstr("no host")));
}

TEST_F(WorkerContextTest, KeyDependsOnSeedWorkerAndReplicaOnly) {
  const uint64_t key = context("w", 1).key().value();
  EXPECT_EQ(context("w", 1).key().value(), key);
  EXPECT_EQ(context("w", 1, 5).key().value(), key) << "a restart keeps its key";
  EXPECT_NE(context("w", 2).key().value(), key);
  EXPECT_NE(context("v", 1).key().value(), key);
  EXPECT_NE(context("w", 1, 0, 10).key().value(), key);
}

TEST_F(WorkerContextTest, LabelsNameTheReplicaFirst) {
  const Labels labels = context("w", 3).labels({{"phase", "x"}});
  EXPECT_EQ(labels, (Labels{{"worker", "w"}, {"replica", "3"}, {"phase", "x"}}));
}

}  // namespace
}  // namespace sluice
