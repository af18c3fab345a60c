#include "dataflow/transport/transport_contract.h"

#include <gmock/gmock.h>

#include <vector>

namespace sluice::contract {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StreamPolicy capacity(int64_t n, WhenFull when_full = WhenFull::Block) {
  StreamPolicy policy;
  policy.capacity = n;
  policy.when_full = when_full;
  return policy;
}

TEST_P(TransportContract, StreamKeepsTheOrderOfEachWriter) {
  const auto spec = stream_spec(capacity(16), 2);
  auto in = reader(spec);
  auto a = writer(spec);
  auto b = writer(spec);
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(put(a, i), PutResult::Accepted);
    ASSERT_EQ(put(b, 10 + i), PutResult::Accepted);
  }
  std::vector<Item<Number>> items;
  ASSERT_TRUE(eventually(near_waker_, [&] {
    items = *in.try_take(8);
    return !items.empty();
  }));
  int64_t next[2] = {0, 0};
  for (const auto& item : items) {
    const int64_t which = item.value->value / 10;
    EXPECT_EQ(item.info.sequence, next[which]);
    EXPECT_EQ(item.value->value, 10 * which + next[which]++);
  }
  EXPECT_NE(items[0].info.writer, items[1].info.writer);
}

TEST_P(TransportContract, FullStreamHoldsTheWriterBackAndWakesIt) {
  const auto spec = stream_spec(capacity(2));
  auto in = reader(spec);
  auto out = writer(spec);
  EXPECT_EQ(put(out, 0), PutResult::Accepted);
  EXPECT_EQ(put(out, 1), PutResult::Accepted);
  auto third = number(2);
  ASSERT_EQ(out.try_put(third, {}), PutResult::Full);
  ASSERT_NE(third, nullptr) << "what was not accepted stays with the writer";
  const auto seen = far_waker_.epoch();
  EXPECT_THAT(take(in, 1), ElementsAre(0));
  EXPECT_TRUE(far_waker_.wait(seen, after(RealClock::instance().now(), 10 * kSecond)));
  EXPECT_TRUE(eventually(far_waker_, [&] { return put(out, 2) == PutResult::Accepted; }));
  EXPECT_THAT(take(in, 2), ElementsAre(1, 2));
}

TEST_P(TransportContract, DropOldestPushesOutAndCounts) {
  const auto spec = stream_spec(capacity(2, WhenFull::DropOldest));
  auto in = reader(spec);
  auto out = writer(spec);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(put(out, i), PutResult::Accepted);
  EXPECT_THAT(take(in, 2), ElementsAre(3, 4));
  EXPECT_EQ(dropped("full"), 3);
}

TEST_P(TransportContract, RefuseTurnsTheNewestAwayAndCounts) {
  const auto spec = stream_spec(capacity(2, WhenFull::Refuse));
  auto in = reader(spec);
  auto out = writer(spec);
  EXPECT_EQ(put(out, 0), PutResult::Accepted);
  EXPECT_EQ(put(out, 1), PutResult::Accepted);
  EXPECT_EQ(put(out, 2), PutResult::Refused);
  EXPECT_THAT(take(in, 2), ElementsAre(0, 1));
  EXPECT_EQ(dropped("refused"), 1);
}

TEST_P(TransportContract, TakeIsAllOrNothing) {
  const auto spec = stream_spec(capacity(4));
  auto in = reader(spec);
  auto out = writer(spec);
  put(out, 0);
  put(out, 1);
  EXPECT_THAT(*in.try_take(3), IsEmpty());
  const auto seen = near_waker_.epoch();
  put(out, 2);
  EXPECT_TRUE(near_waker_.wait(seen, after(RealClock::instance().now(), 10 * kSecond)));
  EXPECT_THAT(take(in, 3), ElementsAre(0, 1, 2));
  EXPECT_EQ(in.try_take(5).status().code(), Code::InvalidArgument) << "more than the capacity";
  EXPECT_EQ(in.try_take(0).status().code(), Code::InvalidArgument);
}

TEST_P(TransportContract, StreamEndsWhenEveryWriterClosedAndAllIsRead) {
  const auto spec = stream_spec(capacity(8), 2);
  auto in = reader(spec);
  auto a = writer(spec);
  auto b = writer(spec);
  put(a, 0);
  put(b, 1);
  put(b, 2);
  a.close();
  places_->settle();
  EXPECT_THAT(*in.try_take(4), IsEmpty()) << "one writer may still bring more";
  b.close();
  EXPECT_TRUE(
      eventually(near_waker_, [&] { return in.try_take(4).status().code() == Code::OutOfRange; }));
  EXPECT_FALSE(in.ended());
  EXPECT_EQ(in.depth(), 3);
  EXPECT_EQ(take(in, 3).size(), 3U);
  EXPECT_TRUE(in.ended());
  EXPECT_EQ(in.try_take(1).status().code(), Code::OutOfRange);
}

TEST_P(TransportContract, LostWriterIsCountedAndMayBeReplaced) {
  const auto spec = stream_spec(capacity(8));
  auto in = reader(spec);
  {
    auto lost = writer(spec);
    put(lost, 0);
  }
  places_->settle();
  EXPECT_EQ(take(in, 1).size(), 1U) << "what it wrote stays";
  EXPECT_FALSE(in.ended()) << "a lost writer is no clean end";
  EXPECT_EQ(of_stream("lost_writers_total"), 1);
  auto again = writer(spec);
  put(again, 1);
  again.close();
  EXPECT_THAT(take(in, 1), ElementsAre(1));
  EXPECT_TRUE(eventually(near_waker_, [&] { return in.ended(); }));
}

TEST_P(TransportContract, ItemsOutliveALostReader) {
  const auto spec = stream_spec(capacity(8));
  auto out = writer(spec);
  {
    auto lost = reader(spec);
    put(out, 0);
    put(out, 1);
    EXPECT_THAT(take(lost, 1), ElementsAre(0));
  }
  places_->settle();
  EXPECT_EQ(put(out, 2), PutResult::Accepted);
  auto again = reader(spec);
  EXPECT_THAT(take(again, 2), ElementsAre(1, 2));
  EXPECT_EQ(of_stream("lost_readers_total"), 1);
}

TEST_P(TransportContract, ClosedEndsOfAStreamAreNotLost) {
  const auto spec = stream_spec(capacity(8));
  {
    auto in = reader(spec);
    auto out = writer(spec);
    out.close();
    in.close();
  }
  places_->settle();
  EXPECT_EQ(of_stream("lost_writers_total"), 0);
  EXPECT_EQ(of_stream("lost_readers_total"), 0);
}

TEST_P(TransportContract, EveryItemIsAccountedForWhateverBecameOfIt) {
  const auto spec = stream_spec(capacity(3, WhenFull::DropOldest));
  auto in = reader(spec);
  auto out = writer(spec);
  for (int64_t i = 0; i < 5; ++i) put(out, i);  // two are pushed out
  EXPECT_EQ(of_stream("written_total"), 5);
  EXPECT_EQ(of_stream("depth"), 3);
  EXPECT_EQ(take(in, 1).size(), 1U);
  EXPECT_EQ(of_stream("read_total"), 1);
  EXPECT_EQ(of_stream("depth"), 2);
  in.close();
  places_->settle();
  EXPECT_EQ(put(out, 5), PutResult::Closed);
  EXPECT_EQ(put(out, 6), PutResult::Closed);
  EXPECT_EQ(of_stream("depth"), 0);
  EXPECT_EQ(of_stream("written_total"), 5);
  EXPECT_EQ(dropped("full"), 2);
  EXPECT_EQ(dropped("reader_closed"), 2);
  EXPECT_EQ(dropped("closed"), 2) << "put to a stream that nobody reads";
  EXPECT_EQ(of_stream("written_total"),
            of_stream("read_total") + dropped("full") + dropped("reader_closed"));
}

TEST_P(TransportContract, ItemsOfAWriterThatClosedAreCountedAsSuch) {
  const auto spec = stream_spec(capacity(3));
  auto in = reader(spec);
  auto out = writer(spec);
  out.close();
  EXPECT_EQ(put(out, 0), PutResult::Closed);
  EXPECT_EQ(dropped("closed"), 1);
}

TEST_P(TransportContract, AgeIsTheTimeFromWriteToRead) {
  const auto spec = stream_spec(capacity(8));
  auto in = reader(spec);
  auto out = writer(spec);
  put(out, 0);
  places_->pass(50 * kMillisecond);
  put(out, 1);
  places_->pass(5 * kSecond);
  take(in, 2);
  // Upper bounds: 1e-5 1e-4 1e-3 1e-2 0.1 1 10 60 600 s. Both are between 1 s and 10 s old.
  EXPECT_THAT(places_->buckets("sluice_stream_age_seconds", {{"channel", "s"}}),
              ElementsAre(0, 0, 0, 0, 0, 0, 2, 0, 0, 0));
  put(out, 2);
  places_->pass(50 * kMillisecond);
  take(in, 1);
  EXPECT_THAT(places_->buckets("sluice_stream_age_seconds", {{"channel", "s"}}),
              ElementsAre(0, 0, 0, 0, 1, 0, 2, 0, 0, 0));
}

TEST_P(TransportContract, ClosedReaderTellsTheWriters) {
  const auto spec = stream_spec(capacity(2));
  auto in = reader(spec);
  auto out = writer(spec);
  put(out, 0);
  put(out, 1);
  EXPECT_EQ(put(out, 2), PutResult::Full);
  in.close();
  EXPECT_TRUE(eventually(far_waker_, [&] { return out.closed(); }));
  EXPECT_EQ(put(out, 2), PutResult::Closed);
  EXPECT_EQ(out.admit(1), 0);
  EXPECT_EQ(dropped("reader_closed"), 2);
  EXPECT_EQ(dropped("closed"), 1);
  auto again = reader(spec);
  places_->settle();
  EXPECT_EQ(put(out, 3), PutResult::Accepted);
  EXPECT_THAT(take(again, 1), ElementsAre(3));
}

TEST_P(TransportContract, ReusedItemsAreReadAgainInTurn) {
  StreamPolicy policy = capacity(4);
  policy.reuse = 2;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  for (int64_t i = 0; i < 3; ++i) put(out, i);
  EXPECT_THAT(take(in, 2), ElementsAre(0, 1));
  EXPECT_THAT(take(in, 3), ElementsAre(2, 0, 1));
  EXPECT_THAT(take(in, 1), ElementsAre(2));
  EXPECT_EQ(in.depth(), 0);
}

TEST_P(TransportContract, NewestSamplingReadsTheLatestItemsFirst) {
  StreamPolicy policy = capacity(4, WhenFull::DropOldest);
  policy.sampling = Sampling::Newest;
  policy.reuse = 0;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  for (int64_t i = 0; i < 6; ++i) put(out, i);
  EXPECT_THAT(take(in, 2), ElementsAre(5, 4));
  EXPECT_THAT(take(in, 4), ElementsAre(5, 4, 3, 2));
}

TEST_P(TransportContract, NothingIsReadBelowMinSizeUntilTheEnd) {
  StreamPolicy policy = capacity(8);
  policy.min_size = 3;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  put(out, 0);
  put(out, 1);
  EXPECT_THAT(*in.try_take(1), IsEmpty());
  put(out, 2);
  EXPECT_THAT(take(in, 1), ElementsAre(0));
  EXPECT_THAT(*in.try_take(1), IsEmpty());
  out.close();
  EXPECT_THAT(take(in, 2), ElementsAre(1, 2)) << "what was collected is not lost";
}

TEST_P(TransportContract, RatioHoldsReadersAndWritersTogether) {
  StreamPolicy policy = capacity(8, WhenFull::DropOldest);
  policy.sampling = Sampling::Uniform;
  policy.reuse = 0;
  policy.samples_per_insert = 2;
  policy.ratio_tolerance = 2;
  const auto spec = stream_spec(policy);
  auto in = reader(spec);
  auto out = writer(spec);
  int64_t written = 0;
  while (put(out, written) == PutResult::Accepted) ++written;
  EXPECT_EQ(written, 2) << "2 * 3 - 0 would be more than 2 (min_size * ratio) + 2 (tolerance)";
  int64_t read = 0;
  while (!in.try_take(1)->empty()) ++read;
  EXPECT_EQ(read, 4) << "2 * 2 - 5 would be less than 2 - 2";
  places_->settle();
  EXPECT_TRUE(eventually(far_waker_, [&] { return put(out, 2) == PutResult::Accepted; }));
  EXPECT_EQ(in.try_take(3).status().code(), Code::InvalidArgument)
      << "a batch wider than the tolerance would wait for ever";
}

TEST_P(TransportContract, UniformSamplingRepeatsWithTheSeed) {
  const auto draw = [](uint64_t seed) {
    auto places = GetParam().make();
    Waker near_waker;
    Waker far_waker;
    StreamPolicy policy = capacity(16, WhenFull::DropOldest);
    policy.sampling = Sampling::Uniform;
    policy.reuse = 0;
    const StreamSpec spec{"s", "Number", policy, 1, seed};
    StreamReader<Number> in(*places->near().open_reader(spec, near_waker));
    StreamWriter<Number> out(*places->far().open_writer(spec, far_waker));
    for (int64_t i = 0; i < 24; ++i) {
      auto item = number(i);
      EXPECT_EQ(out.try_put(item, {}), PutResult::Accepted);
    }
    places->settle();
    std::vector<int64_t> values;
    EXPECT_TRUE(eventually(near_waker, [&] { return in.depth() == 16; }));
    for (int batch = 0; batch < 4; ++batch) {
      for (const auto& item : *in.try_take(16)) values.push_back(item.value->value);
    }
    return values;
  };
  const auto first = draw(5);
  ASSERT_EQ(first.size(), 64U);
  EXPECT_EQ(first, draw(5));
  EXPECT_NE(first, draw(6));
}

}  // namespace
}  // namespace sluice::contract
