#include "dataflow/transport/local_transport.h"

#include "dataflow/transport/transport_contract.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using contract::Number;
using contract::version;
using Call = Exchange<Number, Number>;

/// Two threads' worth of endpoints; the one with the waker `hung` is given up.
class LoseTest : public ::testing::Test {
 protected:
  StreamWriter<Number> writer(Waker& waker) {
    return StreamWriter<Number>(*transport_.open_writer(stream_, waker));
  }
  ServiceServer<Number, Number> server(Waker& waker) {
    return ServiceServer<Number, Number>(*transport_.open_server(service_, waker));
  }

  VirtualClock clock_;
  MetricRegistry metrics_;
  LocalTransport transport_{clock_, metrics_};
  StreamSpec stream_{"s", "Number", {}, 1, 0};
  ServiceSpec service_{"q", "Number -> Number", {}, 1};
  Waker hung_, alive_;
};

TEST_F(LoseTest, PermitsOfAWriterThatHangsGoToOthers) {
  stream_.policy.admit_ahead = 0;
  stream_.policy.admit_batch = 1;
  StreamReader<Number> reader(*transport_.open_reader(stream_, alive_));
  reader.advance(version(0));
  auto lost = writer(hung_);
  ASSERT_EQ(lost.admit(1), 1);
  auto fresh = writer(alive_);
  ASSERT_EQ(fresh.admit(1), 0);
  transport_.lose(hung_);
  EXPECT_EQ(fresh.admit(1), 1);
  auto late = contract::number(1);
  EXPECT_EQ(lost.try_put(late, {}), PutResult::Closed);
  EXPECT_EQ(lost.admit(1), 0);
  lost.close();
  EXPECT_FALSE(reader.ended()) << "a lost writer is no clean end";
  auto item = contract::number(2);
  EXPECT_EQ(fresh.try_put(item, {}), PutResult::Accepted);
  EXPECT_EQ(reader.depth(), 1);
}

TEST_F(LoseTest, ItemsWaitForTheReaderThatReplacesOneThatHangs) {
  auto lost = StreamReader<Number>(*transport_.open_reader(stream_, hung_));
  auto from = writer(alive_);
  auto item = contract::number(4);
  ASSERT_EQ(from.try_put(item, {}), PutResult::Accepted);
  transport_.lose(hung_);
  EXPECT_FALSE(lost.try_take(1).ok());
  auto fresh = StreamReader<Number>(*transport_.open_reader(stream_, alive_));
  const auto items = fresh.try_take(1);
  ASSERT_EQ(items->size(), 1U);
  EXPECT_EQ(items->front().value->value, 4);
}

TEST_F(LoseTest, QuestionsOfAServerThatHangsComeBackAndItsLateAnswersDoNot) {
  ServiceClient<Number, Number> client(*transport_.open_client(service_, alive_));
  auto lost = server(hung_);
  auto call = std::make_unique<Call>();
  ASSERT_TRUE(client.try_ask(call));
  std::vector<std::unique_ptr<Call>> taken;
  ASSERT_TRUE(lost.try_take(taken));
  EXPECT_EQ(client.try_collect(), nullptr);
  transport_.lose(hung_);
  call = client.try_collect();
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->status.code(), Code::Unavailable);
  lost.answer(std::move(taken[0]));
  EXPECT_EQ(client.try_collect(), nullptr);

  auto fresh = server(alive_);
  ASSERT_TRUE(client.try_ask(call));
  EXPECT_FALSE(lost.try_take(taken));
  EXPECT_TRUE(fresh.try_take(taken));
}

TEST_F(LoseTest, PublisherThatHangsPublishesNoMore) {
  const LatestSpec spec{"w", "Number"};
  LatestPublisher<Number> lost(*transport_.open_publisher(spec, hung_));
  const LatestFollower<Number> follower(*transport_.open_follower(spec, alive_));
  ASSERT_TRUE(lost.publish(contract::number(1), version(1)).ok());
  transport_.lose(hung_);
  EXPECT_EQ(lost.publish(contract::number(2), version(2)).code(), Code::FailedPrecondition);
  lost.close();
  EXPECT_FALSE(follower.ended()) << "a lost publisher is no clean end";
  LatestPublisher<Number> fresh(*transport_.open_publisher(spec, alive_));
  EXPECT_TRUE(fresh.publish(contract::number(2), version(2)).ok());
}

TEST_F(LoseTest, ReaderAndItsPeersAreCountedOnceEach) {
  {
    auto w = writer(hung_);
    auto r = StreamReader<Number>(*transport_.open_reader(stream_, hung_));
    auto s = server(hung_);
    ServiceClient<Number, Number> c(*transport_.open_client(service_, hung_));
    LatestPublisher<Number> p(*transport_.open_publisher({"w", "Number"}, hung_));
    LatestFollower<Number> f(*transport_.open_follower({"w", "Number"}, hung_));
    transport_.lose(hung_);
  }
  const auto total = [this](const char* name, const char* channel) {
    return contract::metric_value(metrics_, name, {{"channel", channel}});
  };
  EXPECT_EQ(total("sluice_stream_lost_writers_total", "s"), 1);
  EXPECT_EQ(total("sluice_stream_lost_readers_total", "s"), 1);
  EXPECT_EQ(total("sluice_service_lost_servers_total", "q"), 1);
  EXPECT_EQ(total("sluice_service_lost_clients_total", "q"), 1);
  EXPECT_EQ(total("sluice_latest_lost_publishers_total", "w"), 1);
  EXPECT_EQ(total("sluice_latest_lost_followers_total", "w"), 1);
}

TEST_F(LoseTest, EndpointsOfOtherThreadsStayAsTheyAre) {
  auto mine = writer(alive_);
  StreamReader<Number> reader(*transport_.open_reader(stream_, alive_));
  transport_.lose(hung_);
  auto item = contract::number(1);
  EXPECT_EQ(mine.try_put(item, {}), PutResult::Accepted);
  EXPECT_EQ(reader.try_take(1)->size(), 1U);
}

}  // namespace
}  // namespace sluice
