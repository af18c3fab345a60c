#include "workers/trainer_worker.h"

#include "workers/test_bench.h"

#include <gmock/gmock.h>

#include <optional>

namespace sluice {
namespace {

using testing::Bench;
using ::testing::ElementsAre;
using ::testing::Pair;
using testing::settle;
using testing::settle_well;
using testing::version;

/// Notes what it is given; its weights are the number of batches it has seen.
class FakeLearner final : public TrajectoryLearner {
 public:
  std::vector<std::pair<int64_t, int64_t>>& seen;
  const int64_t& minibatches;
  int64_t batches = 0;
  int64_t left = 0;
  FakeLearner(std::vector<std::pair<int64_t, int64_t>>& notes, const int64_t& per_batch)
      : seen(notes), minibatches(per_batch) {}

  Status begin(std::span<const std::shared_ptr<const Trajectory>> chunks) override {
    for (const auto& chunk : chunks) seen.emplace_back(chunk->slot, chunk->number);
    left = minibatches;
    return {};
  }
  Result<bool> step() override {
    if (--left > 0) return true;
    ++batches;
    return false;
  }
  [[nodiscard]] Stats stats() const override { return {{"batches", static_cast<double>(batches)}}; }
  [[nodiscard]] Weights weights() const override { return {}; }
  Status save(Snapshot& out) const override {
    out.put_value("batches", batches);
    return {};
  }
  Status load(const Snapshot& in) override { return in.get_value("batches", batches); }
};

class TrainerTest : public ::testing::Test {
 protected:
  void start(Trainer spec,
             RunControl::Info info = {.run = 1, .incarnation = 0, .directory = "", .max_steps = -1},
             int64_t max_staleness = -1) {
    bench_ = std::make_unique<Bench>(info);
    bench_->samples.policy.capacity = 64;
    bench_->samples.policy.max_staleness = max_staleness;
    follower_.emplace(bench_->follower());
    writer_.emplace(bench_->writer(bench_->samples));
    worker_ = make(spec);
  }
  std::unique_ptr<TrainerWorker> make(const Trainer& spec, int64_t attempt = 0) {
    auto context =
        bench_->context({{Verb::Reads, "samples"}, {Verb::Publishes, "weights"}}, attempt);
    auto reader = context.reader<Trajectory>();
    auto publisher = context.publisher<Weights>();
    EXPECT_TRUE(reader.ok() && publisher.ok());
    return std::make_unique<TrainerWorker>(spec, std::make_unique<FakeLearner>(seen_, minibatches_),
                                           context, *std::move(reader), *std::move(publisher));
  }
  void put(int64_t slot, int64_t number, int64_t made_by = 0) {
    auto chunk = std::make_shared<Trajectory>();
    chunk->steps = Batch({{"x", DType::F32, {}}}, 5);
    chunk->slot = slot;
    chunk->number = number;
    chunk->episodes.push_back({static_cast<double>(slot), 5, false});
    std::shared_ptr<const Trajectory> item = std::move(chunk);
    ASSERT_EQ(writer_->try_put(item, {version(made_by), version(made_by)}), PutResult::Accepted);
  }
  double dropped(const char* reason) const {
    return bench_->metric("sluice_trainer_dropped_total",
                          {{"worker", "w"}, {"replica", "0"}, {"reason", reason}});
  }
  int64_t published() { return follower_->current().tag.step; }

  std::unique_ptr<Bench> bench_;
  std::vector<std::pair<int64_t, int64_t>> seen_;
  int64_t minibatches_ = 1;
  std::optional<LatestFollower<Weights>> follower_;
  std::optional<StreamWriter<Trajectory>> writer_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(TrainerTest, PublishesVersionZeroBeforeAnySample) {
  start({.batch = 2});
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  EXPECT_EQ(published(), 0);
  const auto value = follower_->current();
  EXPECT_EQ(value.tag.digest, value.value->digest());
}

TEST_F(TrainerTest, LearnsFromWholeBatchesInOrderOfSlotWhateverTheOrderOfArrival) {
  start({.batch = 3});
  put(2, 0);
  put(0, 1);
  settle_well(*worker_);
  EXPECT_TRUE(seen_.empty()) << "two of three chunks are no batch";
  put(0, 0);
  settle_well(*worker_);
  EXPECT_THAT(seen_, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(2, 0)));
  EXPECT_EQ(published(), 1);
  EXPECT_EQ(bench_->run.value("env_steps"), 15);
  EXPECT_EQ(bench_->run.value("episodes"), 3);
  EXPECT_DOUBLE_EQ(*bench_->run.value("episode_return"), 2.0 / 3) << "slots 2, 0 and 0";
  EXPECT_EQ(bench_->metric("sluice_trainer_steps_total"), 15);
  EXPECT_EQ(bench_->metric("sluice_trainer_versions_total"), 2);
  EXPECT_EQ(bench_->run.value("batches"), 1);
}

TEST_F(TrainerTest, CheckpointComesBeforeTheVersionIsPublished) {
  start({.batch = 1, .checkpoint_every = 1});
  settle_well(*worker_);
  put(0, 0);
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Idle);
  EXPECT_TRUE(bench_->run.checkpoint_pending());
  EXPECT_EQ(bench_->run.checkpoint_step(), 1);
  EXPECT_EQ(published(), 0);
  bench_->run.checkpoint_done();
  settle_well(*worker_);
  EXPECT_EQ(published(), 1);
}

TEST_F(TrainerTest, StalenessCountsFromTheMomentOfUse) {
  start({.batch = 1, .prefetch = 1});
  settle_well(*worker_);
  put(0, 0, 0);
  put(0, 1, 0);  // taken ahead at version 0, used at version 1
  settle_well(*worker_);
  EXPECT_EQ(published(), 2);
  EXPECT_EQ(bench_->run.value("staleness"), 1) << "of the newest version";
  for (const MetricSample& sample : bench_->metrics.snapshot()) {
    if (sample.name != "sluice_trainer_staleness") continue;
    EXPECT_EQ(sample.counts[0], 1);
    EXPECT_EQ(sample.counts[1], 1);
    return;
  }
  FAIL() << "no staleness was counted";
}

TEST_F(TrainerTest, PrefetchedItemsThatGotTooOldAreNotTrainedOn) {
  start({.batch = 1, .prefetch = 4}, {.run = 1, .incarnation = 0, .directory = "", .max_steps = -1},
        0);
  settle_well(*worker_);
  for (int64_t number = 0; number < 4; ++number) put(0, number, 0);
  settle_well(*worker_);
  EXPECT_EQ(published(), 1) << "the first was fresh; the others got old while it was learned from";
  EXPECT_THAT(seen_, ElementsAre(Pair(0, 0)));
  double stale = 0;
  for (const MetricSample& sample : bench_->metrics.snapshot()) {
    if (sample.name != "sluice_stream_dropped_total") continue;
    if (sample.labels.back().second == "stale") stale += sample.value;
  }
  EXPECT_EQ(stale, 3);
  put(0, 4, 1);
  settle_well(*worker_);
  EXPECT_EQ(published(), 2);
}

TEST_F(TrainerTest, EndsAtTheStepLimitWithACheckpointAndTheLastVersion) {
  start({.batch = 1}, {.run = 1, .incarnation = 0, .directory = "", .max_steps = 10});
  settle_well(*worker_);
  put(0, 0);
  put(0, 1);
  put(0, 2);
  settle_well(*worker_);
  EXPECT_TRUE(bench_->run.checkpoint_pending());
  EXPECT_FALSE(bench_->run.finished());
  EXPECT_EQ(published(), 1);
  bench_->run.checkpoint_done();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_TRUE(bench_->run.finished());
  EXPECT_EQ(published(), 2);
  EXPECT_EQ(seen_.size(), 2U);
  EXPECT_TRUE(writer_->closed());
}

TEST_F(TrainerTest, StalenessOfAVersionIsTheMeanOverItsBatch) {
  start({.batch = 2});
  settle_well(*worker_);
  put(0, 0, 0);
  put(1, 0, 0);
  settle_well(*worker_);
  EXPECT_EQ(bench_->run.value("staleness"), 0);
  put(0, 1, 0);
  put(1, 1, 1);
  settle_well(*worker_);
  EXPECT_EQ(bench_->run.value("staleness"), 0.5);
}

TEST_F(TrainerTest, PrefetchedChunksAreCountedWhenTheRunEndsFirst) {
  start({.batch = 1, .prefetch = 2}, {.run = 1, .incarnation = 0, .directory = "", .max_steps = 5});
  settle_well(*worker_);
  for (int64_t i = 0; i < 3; ++i) put(0, i);
  settle_well(*worker_);
  bench_->run.checkpoint_done();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(seen_.size(), 1U);
  EXPECT_EQ(bench_->metric("sluice_stream_read_total"), 2);
  worker_.reset();
  EXPECT_EQ(dropped("drained"), 1);
  EXPECT_EQ(dropped("lost"), 0) << "counted once";
}

TEST_F(TrainerTest, DrainCountsTheBatchUnderWayAndThoseAhead) {
  start({.batch = 2, .prefetch = 1});
  settle_well(*worker_);
  for (int64_t i = 0; i < 4; ++i) put(0, i);
  minibatches_ = 3;
  ASSERT_TRUE(worker_->step().ok());  // takes a batch
  ASSERT_TRUE(worker_->step().ok());  // its first minibatch; takes the next batch
  worker_->drain();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
  EXPECT_EQ(dropped("drained"), 4);
}

TEST_F(TrainerTest, ChunksInTheHandsOfATrainerThatFailsAreCountedAsLost) {
  start({.batch = 2, .prefetch = 1});
  settle_well(*worker_);
  for (int64_t i = 0; i < 4; ++i) put(0, i);
  minibatches_ = 3;
  ASSERT_TRUE(worker_->step().ok());
  ASSERT_TRUE(worker_->step().ok());
  worker_.reset();
  EXPECT_EQ(dropped("lost"), 4);
}

TEST_F(TrainerTest, RequestToStopEndsItAlsoWhileItWaitsForSamples) {
  start({.batch = 4});
  settle_well(*worker_);
  const auto before = bench_->waker.epoch();
  bench_->run.request_stop("enough");
  EXPECT_NE(bench_->waker.epoch(), before) << "the loop must be woken";
  settle_well(*worker_);
  EXPECT_TRUE(bench_->run.checkpoint_pending());
  bench_->run.checkpoint_done();
  EXPECT_EQ(settle(*worker_)->kind, StepResult::Kind::Finished);
}

TEST_F(TrainerTest, ComesBackWhereItWasUnderAnotherIncarnation) {
  start({.batch = 1});
  settle_well(*worker_);
  put(0, 0);
  settle_well(*worker_);
  ASSERT_EQ(published(), 1);
  Snapshot saved;
  ASSERT_TRUE(worker_->save(saved).ok());
  worker_ = make({.batch = 1}, 1);
  ASSERT_TRUE(worker_->load(saved).ok());
  settle_well(*worker_);
  const VersionTag tag = follower_->current().tag;
  EXPECT_EQ(tag.step, 1);
  EXPECT_GT(tag.incarnation, 0U);
  put(0, 1, 0);  // of a version that both lives share
  settle_well(*worker_);
  EXPECT_EQ(bench_->run.value("env_steps"), 10);
  EXPECT_EQ(bench_->run.value("batches"), 2);
}

}  // namespace
}  // namespace sluice
