#include "dataflow/transport/transport_contract.h"

#include <gmock/gmock.h>

namespace sluice::contract {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StreamPolicy admitted(int64_t ahead, int64_t batch) {
  StreamPolicy policy;
  policy.capacity = 64;
  policy.admit_ahead = ahead;
  policy.admit_batch = batch;
  return policy;
}

StreamPolicy fresh(int64_t max_staleness, OnStale on_stale) {
  StreamPolicy policy;
  policy.capacity = 64;
  policy.max_staleness = max_staleness;
  policy.on_stale = on_stale;
  return policy;
}

TEST_P(TransportContract, OnPolicyAdmitsExactlyOneBatchPerVersion) {
  const auto spec = stream_spec(admitted(0, 3), 2);
  auto in = reader(spec);
  auto a = writer(spec);
  auto b = writer(spec);
  for (int64_t v = 5; v < 9; ++v) {
    in.advance(version(v));
    places_->settle();
    const int64_t first = a.admit(2);
    const int64_t second = b.admit(10);
    EXPECT_EQ(first + second, 3);
    EXPECT_EQ(a.admit(1), 0);
    for (int64_t i = 0; i < first; ++i) put(a, v, made_by(version(v)));
    for (int64_t i = 0; i < second; ++i) put(b, v, made_by(version(v)));
    EXPECT_EQ(a.admit(1), 0) << "accepted items count as well";
    EXPECT_THAT(take(in, 3), ElementsAre(v, v, v));
    EXPECT_EQ(a.admit(1), 0) << "reading alone moves nothing";
  }
}

TEST_P(TransportContract, AdmissionLetsWritersRunEtaVersionsAhead) {
  const auto spec = stream_spec(admitted(2, 4));
  auto in = reader(spec);
  auto out = writer(spec);
  EXPECT_EQ(out.admit(100), 12);
  out.give_back(5);
  places_->settle();
  EXPECT_EQ(out.admit(100), 5);
  in.advance(version(0));
  places_->settle();
  EXPECT_EQ(out.admit(100), 0) << "the first version is v0";
  const auto seen = far_waker_.epoch();
  in.advance(version(1));
  EXPECT_TRUE(far_waker_.wait(seen, after(RealClock::instance().now(), 10 * kSecond)));
  EXPECT_TRUE(eventually(far_waker_, [&] { return out.admit(100) == 4; }));
}

TEST_P(TransportContract, WritesWithoutAPermitPassTheSameGate) {
  const auto spec = stream_spec(admitted(0, 2));
  auto in = reader(spec);
  auto out = writer(spec);
  EXPECT_EQ(put(out, 0), PutResult::Accepted);
  EXPECT_EQ(put(out, 1), PutResult::Accepted);
  EXPECT_EQ(put(out, 2), PutResult::Full);
  in.advance(version(0));
  in.advance(version(1));
  EXPECT_TRUE(eventually(far_waker_, [&] { return put(out, 2) == PutResult::Accepted; }));
}

TEST_P(TransportContract, LostWriterHandsItsPermitsBack) {
  const auto spec = stream_spec(admitted(0, 4));
  auto in = reader(spec);
  auto stays = writer(spec);
  {
    auto lost = writer(spec);
    EXPECT_EQ(lost.admit(3), 3);
    put(lost, 0);
  }
  EXPECT_EQ(stays.admit(2), 2);
  EXPECT_TRUE(eventually(far_waker_, [&] { return stays.admit(1) == 1; }));
  EXPECT_EQ(stays.admit(1), 0) << "1 accepted and 3 running";
  EXPECT_EQ(dropped("writer_lost"), 2) << "permits that came to nothing";
}

TEST_P(TransportContract, NewIncarnationRestartsAdmissionAtItsOwnVersion) {
  const auto spec = stream_spec(admitted(0, 2));
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(7, 1));
  EXPECT_EQ(put(out, 0), PutResult::Accepted);
  EXPECT_EQ(put(out, 1), PutResult::Accepted);
  EXPECT_EQ(take(in, 1).size(), 1U);
  in.advance(version(3, 2));
  places_->settle();
  EXPECT_EQ(out.admit(5), 1) << "one item of the last batch still waits to be read";
  in.advance(version(8, 1));
  places_->settle();
  EXPECT_EQ(out.admit(5), 0) << "nobody is led backwards";
}

TEST_P(TransportContract, StaleItemsAreDroppedAndTheirPlacesRefunded) {
  StreamPolicy policy = fresh(1, OnStale::Drop);
  policy.admit_ahead = 3;
  policy.admit_batch = 1;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(0));
  places_->settle();
  EXPECT_EQ(out.admit(4), 4);
  for (int64_t v = 0; v < 4; ++v) put(out, v, made_by(version(v)));
  EXPECT_EQ(out.admit(4), 0);
  in.advance(version(3));
  EXPECT_THAT(take(in, 2), ElementsAre(2, 3));
  EXPECT_EQ(dropped("stale"), 2);
  EXPECT_EQ(out.admit(9), 5) << "3 versions on, and 2 refunds";
  EXPECT_EQ(put(out, 1, made_by(version(1))), PutResult::Refused) << "too old on arrival";
  EXPECT_EQ(dropped("stale"), 3);
  EXPECT_EQ(out.admit(9), 1) << "the refused one used its permit up, and it is free again";
}

TEST_P(TransportContract, TakenItemsAreJudgedAgainBeforeTheirUse) {
  StreamPolicy policy = fresh(1, OnStale::Drop);
  policy.admit_ahead = 3;
  policy.admit_batch = 1;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(0));
  places_->settle();
  EXPECT_EQ(out.admit(4), 4);
  for (int64_t v = 0; v < 3; ++v) put(out, v, made_by(version(v)));
  std::vector<Item<Number>> taken;
  EXPECT_TRUE(eventually(near_waker_, [&] {
    taken = *in.try_take(3);
    return !taken.empty();
  }));
  EXPECT_TRUE(in.drop_stale(taken).ok());
  EXPECT_EQ(taken.size(), 3U) << "nothing has changed yet";
  in.advance(version(2));
  EXPECT_TRUE(in.drop_stale(taken).ok());
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].value->value, 1);
  EXPECT_EQ(dropped("stale"), 1);
  places_->settle();
  EXPECT_EQ(out.admit(9), 3) << "2 versions on, and the place of the dropped one";
}

TEST_P(TransportContract, TakenItemThatGotTooOldIsAnErrorWhenThePolicySaysSo) {
  const auto spec = stream_spec(fresh(0, OnStale::Error));
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(4));
  places_->settle();
  put(out, 0, made_by(version(4)));
  std::vector<Item<Number>> taken;
  EXPECT_TRUE(eventually(near_waker_, [&] {
    taken = *in.try_take(1);
    return !taken.empty();
  }));
  in.advance(version(5));
  EXPECT_EQ(in.drop_stale(taken).code(), Code::FailedPrecondition);
}

TEST_P(TransportContract, LineageIsKeptEvenWhereAgeDoesNotMatter) {
  StreamPolicy policy;
  policy.capacity = 8;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(8, 1));
  put(out, 0, made_by(version(7, 1)));
  put(out, 1, made_by(version(1, 1)));
  in.advance(version(5, 2));
  EXPECT_THAT(take(in, 1), ElementsAre(1)) << "version 7 was lost with its trainer";
  EXPECT_EQ(dropped("lineage"), 1);
}

TEST_P(TransportContract, StalenessAtTheReadGoesIntoItsBucket) {
  const auto spec = stream_spec(fresh(100, OnStale::Drop));
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(3));
  places_->settle();
  put(out, 0, made_by(version(3)));
  put(out, 1, made_by(version(1)));
  put(out, 2, {version(0), version(3)});
  put(out, 3);
  EXPECT_EQ(take(in, 4).size(), 4U);
  // Upper bounds: 0 1 2 4 8 16 32 64 128 versions.
  EXPECT_THAT(places_->buckets("sluice_stream_staleness", {{"channel", "s"}}),
              ElementsAre(2, 0, 1, 1, 0, 0, 0, 0, 0, 0));
  in.advance(version(13));
  places_->settle();
  put(out, 4, made_by(version(3)));
  EXPECT_EQ(take(in, 1).size(), 1U);
  EXPECT_THAT(places_->buckets("sluice_stream_staleness", {{"channel", "s"}}),
              ElementsAre(2, 0, 1, 1, 0, 1, 0, 0, 0, 0));
}

TEST_P(TransportContract, PermitForAnItemThatCameTooLateIsFreeAgain) {
  const auto spec = stream_spec(admitted(0, 1));
  auto in = reader(spec);
  auto out = writer(spec);
  EXPECT_EQ(out.admit(1), 1);
  EXPECT_EQ(of_stream("admitted_total"), 1);
  in.close();
  places_->settle();
  EXPECT_EQ(put(out, 0), PutResult::Closed);
  EXPECT_EQ(dropped("closed"), 1);
  auto again = reader(spec);
  places_->settle();
  EXPECT_EQ(out.admit(1), 1);
  EXPECT_EQ(of_stream("admitted_total"), 2);
}

TEST_P(TransportContract, MixedItemsAreAsOldAsTheirOldestVersion) {
  const auto spec = stream_spec(fresh(1, OnStale::Drop));
  auto in = reader(spec);
  auto out = writer(spec);
  put(out, 0, {version(1), version(3)});
  put(out, 1, {version(2), version(3)});
  put(out, 2, {});
  in.advance(version(3));
  EXPECT_THAT(take(in, 2), ElementsAre(1, 2)) << "items no policy made have no age";
}

TEST_P(TransportContract, StaleItemIsAnErrorWhenThePolicySaysSo) {
  const auto spec = stream_spec(fresh(0, OnStale::Error));
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(4));
  places_->settle();
  EXPECT_EQ(put(out, 0, made_by(version(3))), PutResult::Accepted);
  Status status;
  EXPECT_TRUE(eventually(near_waker_, [&] {
    status = in.try_take(1).status();
    return !status.ok();
  }));
  EXPECT_EQ(status.code(), Code::FailedPrecondition);
  EXPECT_NE(status.message().find("v3.1"), std::string::npos) << status.message();
}

TEST_P(TransportContract, WaitHoldsWritersBackSoThatNothingGetsTooOld) {
  StreamPolicy policy = fresh(1, OnStale::Wait);
  policy.admit_ahead = 1;
  policy.admit_batch = 2;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  int64_t accepted = 0;
  for (int64_t v = 0; v < 6; ++v) {
    in.advance(version(v));
    places_->settle();
    for (int64_t permits = out.admit(100); permits > 0; --permits, ++accepted) {
      EXPECT_EQ(put(out, v, made_by(version(v))), PutResult::Accepted);
    }
    EXPECT_EQ(take(in, 2).size(), 2U);
  }
  EXPECT_EQ(accepted, 14);
  EXPECT_EQ(dropped("stale"), 0);
}

TEST_P(TransportContract, ItemsOfADeadIncarnationAreNeverRead) {
  const auto spec = stream_spec(fresh(10, OnStale::Drop));
  auto in = reader(spec);
  auto out = writer(spec);
  in.advance(version(8, 1));
  places_->settle();
  put(out, 0, made_by(version(4, 1)));
  put(out, 1, made_by(version(7, 1)));
  in.advance(version(5, 2));
  EXPECT_THAT(take(in, 1), ElementsAre(0)) << "the restored checkpoint stands on version 4";
  EXPECT_THAT(*in.try_take(1), IsEmpty());
  EXPECT_EQ(dropped("lineage"), 1);
}

}  // namespace
}  // namespace sluice::contract
