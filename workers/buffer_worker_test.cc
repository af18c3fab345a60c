#include "workers/buffer_worker.h"

#include "workers/test_bench.h"

#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using testing::settle;
using testing::settle_well;
using testing::version;

class BufferTest : public ::testing::Test {
 protected:
  void start(Buffer<Trajectory> spec = {}) {
    writer_.emplace(bench_.writer(bench_.fresh));
    reader_.emplace(bench_.reader(bench_.samples));
    auto context = bench_.context({{Verb::Reads, "fresh"}, {Verb::Writes, "samples"}});
    auto made = spec.make(context);
    ASSERT_TRUE(made.ok()) << made.status().message();
    worker_ = *std::move(made);
  }
  void put(int64_t number, const VersionSpan& versions = {}) {
    auto chunk = std::make_shared<Trajectory>();
    chunk->number = number;
    std::shared_ptr<const Trajectory> item = std::move(chunk);
    ASSERT_EQ(writer_->try_put(item, versions), PutResult::Accepted);
  }
  std::vector<int64_t> take_all() {
    std::vector<int64_t> numbers;
    for (;;) {
      auto items = reader_->try_take(1);
      if (!items.ok() || items->empty()) return numbers;
      numbers.push_back(items->front().value->number);
    }
  }

  Bench bench_;
  std::optional<StreamWriter<Trajectory>> writer_;
  std::optional<StreamReader<Trajectory>> reader_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(BufferTest, MovesItemsInOrderWithTheirVersions) {
  start();
  put(0, {version(2), version(3)});
  put(1);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  auto items = reader_->try_take(2);
  ASSERT_EQ(items->size(), 2U);
  EXPECT_EQ((*items)[0].info.versions.oldest, version(2));
  EXPECT_EQ((*items)[0].info.versions.newest, version(3));
  EXPECT_EQ((*items)[1].value->number, 1);
  EXPECT_EQ(bench_.metric("sluice_buffer_moved_total"), 2);
}

TEST_F(BufferTest, FullStreamDownstreamLosesNothing) {
  bench_.samples.policy.capacity = 2;
  bench_.fresh.policy.capacity = 8;
  start();
  for (int64_t i = 0; i < 6; ++i) put(i);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  std::vector<int64_t> seen;
  for (int round = 0; round < 6; ++round) {
    for (const int64_t number : take_all()) seen.push_back(number);
    settle_well(*worker_);
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(BufferTest, TakesNoMoreThanItCanPassOnButOne) {
  bench_.samples.policy.capacity = 1;
  bench_.fresh.policy.capacity = 2;
  start();
  put(0);
  put(1);
  settle_well(*worker_);  // 0 passed on, 1 in hand
  put(2);
  put(3);
  settle_well(*worker_);
  std::shared_ptr<const Trajectory> more = std::make_shared<Trajectory>();
  EXPECT_EQ(writer_->try_put(more, {}), PutResult::Full) << "producers must be held back";
}

TEST_F(BufferTest, StreamDownstreamHasItsOwnReuse) {
  bench_.samples.policy.reuse = 3;
  start();
  put(7);
  settle_well(*worker_);
  EXPECT_EQ(take_all(), (std::vector<int64_t>{7, 7, 7}));
}

TEST_F(BufferTest, EndOfTheStreamPassesThrough) {
  bench_.samples.policy.capacity = 1;
  start();
  put(0);
  put(1);
  writer_->close();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle) << "one item is still in hand";
  EXPECT_EQ(take_all(), std::vector<int64_t>{0});
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(take_all(), std::vector<int64_t>{1});
  EXPECT_TRUE(reader_->ended());
}

TEST_F(BufferTest, DrainPassesOnWhatIsThereAndEnds) {
  start({.move = 1});
  put(0);
  put(1);
  worker_->drain();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(take_all(), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(reader_->ended());
}

TEST_F(BufferTest, ClosedReaderDownstreamEndsItAndTellsTheProducers) {
  start();
  reader_->close();
  put(0);
  put(1);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_TRUE(writer_->closed());
  const auto dropped = [&](const char* channel, const char* reason) {
    return bench_.metric("sluice_stream_dropped_total", {{"channel", channel}, {"reason", reason}});
  };
  EXPECT_EQ(dropped("samples", "closed"), 1) << "the one in hand";
  EXPECT_EQ(dropped("fresh", "reader_closed"), 1) << "the one still upstream";
  worker_.reset();
  EXPECT_EQ(bench_.metric("sluice_buffer_dropped_total"), 0) << "counted once";
}

TEST_F(BufferTest, ItemInHandIsCountedWhenItIsLost) {
  bench_.samples.policy.capacity = 1;
  start();
  put(0);
  put(1);
  settle_well(*worker_);  // 0 passed on, 1 in hand
  worker_.reset();
  EXPECT_EQ(bench_.metric("sluice_buffer_dropped_total",
                          {{"worker", "w"}, {"replica", "0"}, {"reason", "lost"}}),
            1);
}

}  // namespace
}  // namespace sluice
