#include "dataflow/transport/transport_contract.h"

#include "dataflow/transport/local_transport.h"

#include <gmock/gmock.h>

#include <thread>

namespace sluice::contract {
namespace {

// [places]
class LocalPlaces final : public Places {
 public:
  Transport& near() override { return transport_; }
  Transport& far() override { return transport_; }
  void pass(TimeNs by) override { clock_.advance(by); }
  double metric(std::string_view name, const Labels& labels) override {
    return metric_value(metrics_, name, labels);
  }
  std::vector<int64_t> buckets(std::string_view name, const Labels& labels) override {
    return metric_buckets(metrics_, name, labels);
  }

 private:
  VirtualClock clock_;
  MetricRegistry metrics_;
  LocalTransport transport_{clock_, metrics_};
};

INSTANTIATE_TEST_SUITE_P(Local, TransportContract,
                         ::testing::Values(Factory{
                             "local", [] { return std::make_unique<LocalPlaces>(); }}));
// [/places]

class Follower {
 public:
  Follower(Transport& transport, Waker& waker)
      : end(*transport.open_follower({"w", "Number"}, waker)) {}
  LatestFollower<Number> end;
};

LatestPublisher<Number> publisher(Transport& transport, Waker& waker) {
  return LatestPublisher<Number>(*transport.open_publisher({"w", "Number"}, waker));
}

TEST_P(TransportContract, RefusesEndpointsThatDisagreeOnThePayload) {
  const auto first = places_->near().open_reader(stream_spec({}), near_waker_);
  ASSERT_TRUE(first.ok());
  StreamSpec other = stream_spec({});
  other.payload = "Prompt";
  const auto second = places_->far().open_writer(other, far_waker_);
  ASSERT_EQ(second.status().code(), Code::InvalidArgument);
  EXPECT_NE(second.status().message().find("Number"), std::string::npos);
  EXPECT_NE(second.status().message().find("Prompt"), std::string::npos);
}

TEST_P(TransportContract, RefusesStreamEndpointsThatDisagreeOnTheSettings) {
  StreamPolicy policy;
  policy.capacity = 4;
  const auto first = places_->near().open_reader(stream_spec(policy), near_waker_);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(places_->far().open_writer(stream_spec(policy), far_waker_).ok());
  StreamPolicy other = policy;
  other.capacity = 8;
  other.when_full = WhenFull::DropOldest;
  const auto second = places_->far().open_writer(stream_spec(other), far_waker_);
  ASSERT_EQ(second.status().code(), Code::InvalidArgument);
  EXPECT_THAT(second.status().message(),
              ::testing::AllOf(::testing::HasSubstr("capacity 4 and 8"),
                               ::testing::HasSubstr("when_full block and drop_oldest")));
  const auto third = places_->far().open_writer(stream_spec(policy, 3), far_waker_);
  ASSERT_EQ(third.status().code(), Code::InvalidArgument);
  EXPECT_THAT(third.status().message(), ::testing::HasSubstr("writers 1 and 3"));
}

TEST_P(TransportContract, RefusesServiceEndpointsThatDisagreeOnTheSettings) {
  ServicePolicy policy;
  policy.batch_limit = 4;
  const auto first = places_->near().open_server(service_spec(policy), near_waker_);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(places_->far().open_client(service_spec(policy), far_waker_).ok());
  ServicePolicy other = policy;
  other.batch_limit = 9;
  const auto second = places_->far().open_client(service_spec(other), far_waker_);
  ASSERT_EQ(second.status().code(), Code::InvalidArgument);
  EXPECT_THAT(second.status().message(), ::testing::HasSubstr("batch_limit 4 and 9"));
  const auto third = places_->far().open_client(service_spec(policy, 2), far_waker_);
  ASSERT_EQ(third.status().code(), Code::InvalidArgument);
  EXPECT_THAT(third.status().message(), ::testing::HasSubstr("clients 1 and 2"));
}

TEST_P(TransportContract, RefusesPoliciesThatCannotWork) {
  StreamPolicy policy;
  policy.capacity = 4;
  policy.min_size = 9;
  const auto opened = places_->near().open_reader(stream_spec(policy), near_waker_);
  ASSERT_EQ(opened.status().code(), Code::InvalidArgument);
  EXPECT_NE(opened.status().message().find("min_size 9"), std::string::npos);
}

TEST_P(TransportContract, LatestNeverGoesBackwards) {
  auto out = publisher(places_->near(), near_waker_);
  Follower in(places_->far(), far_waker_);
  EXPECT_EQ(in.end.current().value, nullptr);
  ASSERT_TRUE(out.publish(number(3), version(3)).ok());
  EXPECT_EQ(out.publish(number(2), version(2)).code(), Code::FailedPrecondition);
  EXPECT_EQ(out.publish(number(3), version(3)).code(), Code::FailedPrecondition);
  ASSERT_TRUE(eventually(far_waker_, [&] { return in.end.has_newer({}); }));
  EXPECT_EQ(in.end.current().value->value, 3);
  EXPECT_EQ(in.end.current().tag, version(3));
  EXPECT_FALSE(in.end.has_newer(version(3)));
  EXPECT_TRUE(in.end.has_newer(version(2)));
}

TEST_P(TransportContract, LatestOfANewIncarnationIsNewerAtALowerStep) {
  auto out = publisher(places_->near(), near_waker_);
  Follower in(places_->far(), far_waker_);
  ASSERT_TRUE(out.publish(number(50), version(50, 1)).ok());
  ASSERT_TRUE(out.publish(number(20), version(20, 2)).ok());
  EXPECT_EQ(out.publish(number(51), version(51, 1)).code(), Code::FailedPrecondition);
  ASSERT_TRUE(eventually(far_waker_, [&] { return in.end.has_newer(version(50, 1)); }));
  EXPECT_TRUE(eventually(far_waker_, [&] { return in.end.current().tag == version(20, 2); }));
}

TEST_P(TransportContract, LatestGoesOnWithAnotherPublisherAfterACrash) {
  Follower in(places_->far(), far_waker_);
  { ASSERT_TRUE(publisher(places_->near(), near_waker_).publish(number(1), version(1)).ok()); }
  places_->settle();
  EXPECT_FALSE(in.end.ended());
  auto again = publisher(places_->near(), near_waker_);
  EXPECT_EQ(again.publish(number(0), version(0)).code(), Code::FailedPrecondition);
  ASSERT_TRUE(again.publish(number(2), version(2)).ok());
  EXPECT_TRUE(eventually(far_waker_, [&] { return in.end.has_newer(version(1)); }));
  again.close();
  EXPECT_TRUE(eventually(far_waker_, [&] { return in.end.ended(); }));
  EXPECT_EQ(in.end.current().value->value, 2) << "the last value stays after the end";
}

TEST_P(TransportContract, LostPeersOfALatestChannelAreCountedAndClosedOnesAreNot) {
  {
    auto out = publisher(places_->near(), near_waker_);
    Follower in(places_->far(), far_waker_);
    out.close();
    in.end.close();
  }
  places_->settle();
  EXPECT_EQ(of_latest("lost_publishers_total"), 0);
  EXPECT_EQ(of_latest("lost_followers_total"), 0);
  {
    auto out = publisher(places_->near(), near_waker_);
    Follower in(places_->far(), far_waker_);
  }
  places_->settle();
  EXPECT_EQ(of_latest("lost_publishers_total"), 1);
  EXPECT_EQ(of_latest("lost_followers_total"), 1);
}

TEST_P(TransportContract, ClosedFollowerIsNotWokenAndKeepsTheValue) {
  auto out = publisher(places_->near(), near_waker_);
  Follower in(places_->far(), far_waker_);
  ASSERT_TRUE(out.publish(number(1), version(1)).ok());
  ASSERT_TRUE(eventually(far_waker_, [&] { return in.end.has_newer({}); }));
  in.end.close();
  places_->settle();
  const auto seen = far_waker_.epoch();
  ASSERT_TRUE(out.publish(number(2), version(2)).ok());
  places_->settle();
  EXPECT_EQ(far_waker_.epoch(), seen);
  EXPECT_NE(in.end.current().value, nullptr);
}

TEST_P(TransportContract, PublishedVersionsAreCountedAndTheNewestStepIsShown) {
  auto out = publisher(places_->near(), near_waker_);
  ASSERT_TRUE(out.publish(number(3), version(3)).ok());
  ASSERT_TRUE(out.publish(number(8), version(8)).ok());
  EXPECT_FALSE(out.publish(number(8), version(8)).ok()) << "refused, so not counted";
  EXPECT_EQ(of_latest("published_total"), 2);
  EXPECT_EQ(of_latest("step"), 8);
}

TEST_P(TransportContract, LatestGivesALateFollowerTheNewestValue) {
  auto out = publisher(places_->near(), near_waker_);
  ASSERT_TRUE(out.publish(number(1), version(1)).ok());
  ASSERT_TRUE(out.publish(number(2), version(2)).ok());
  Follower late(places_->far(), far_waker_);
  ASSERT_TRUE(eventually(far_waker_, [&] { return late.end.has_newer({}); }));
  EXPECT_TRUE(eventually(far_waker_, [&] { return late.end.current().tag == version(2); }));
}

TEST_P(TransportContract, LatestShowsValueAndTagTogetherToEveryThread) {
  constexpr int64_t kLast = 500;
  auto out = publisher(places_->near(), near_waker_);
  std::thread follower([&] {
    Waker waker;
    Follower in(places_->far(), waker);
    VersionTag seen;
    EXPECT_TRUE(eventually(waker, [&] {
      if (!in.end.has_newer(seen)) return seen.step == kLast;
      const auto got = in.end.current();
      EXPECT_EQ(got.value->value, got.tag.step);
      EXPECT_GT(got.tag.step, seen.step);
      seen = got.tag;
      return seen.step == kLast;
    }));
  });
  for (int64_t step = 0; step <= kLast; ++step) {
    ASSERT_TRUE(out.publish(number(step), version(step)).ok());
  }
  follower.join();
}

}  // namespace
}  // namespace sluice::contract
