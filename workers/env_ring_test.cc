#include "workers/env_ring.h"

#include "workers/test_bench.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;
constexpr int64_t kRows = 4;
constexpr int64_t kObs = 0, kAction = 1, kReward = 4, kTerminated = 5, kTruncated = 6;

EnvRing ring_of(const std::string& env, int64_t size = 2, int64_t attempt = 0) {
  auto ring = EnvRing::make(env, size, 10, RandomKey(5), attempt);
  EXPECT_TRUE(ring.ok());
  return *std::move(ring);
}

std::shared_ptr<Trajectory> blank(const EnvRing& ring) {
  auto chunk = std::make_shared<Trajectory>();
  chunk->steps =
      Batch(Trajectory::schema(ring.spec().observation, ring.spec().action.tensor()), kRows);
  return chunk;
}

Status play(EnvRing& ring, EnvSlot& slot, int64_t steps, int64_t action = 1) {
  for (int64_t i = 0; i < steps; ++i) {
    const auto transition = ring.step(slot, &action);
    if (!transition.ok()) return transition.status();
    if (slot.needs_reset) RETURN_IF_ERROR(ring.reset(slot));
  }
  return {};
}

TEST(EnvRing, StepWritesTheRowAndTheNextObservation) {
  EnvRing ring = ring_of(testing::scripted(3, false));
  EnvSlot& slot = ring.slot(1);
  EXPECT_EQ(slot.id, 11);
  ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
  ASSERT_TRUE(play(ring, slot, 2).ok());
  const Batch& steps = slot.chunk->steps;
  EXPECT_EQ(steps.data<float>(kObs)[0], 0);
  EXPECT_EQ(steps.data<float>(kObs)[1], 1);
  EXPECT_EQ(steps.data<float>(kObs)[2], 2);
  EXPECT_EQ(steps.data<int64_t>(kAction)[0], 1);
  EXPECT_EQ(steps.data<float>(kReward)[1], 2);
  EXPECT_EQ(slot.t, 2);
}

TEST(EnvRing, EndedEpisodeIsNotedAndTheNextBeginsInTheSameChunk) {
  EnvRing ring = ring_of(testing::scripted(3, true));
  EnvSlot& slot = ring.slot(0);
  ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
  ASSERT_TRUE(play(ring, slot, 4).ok());
  const auto chunk = ring.close_chunk(slot);
  EXPECT_EQ(chunk->steps.data<uint8_t>(kTruncated)[2], 1);
  EXPECT_EQ(chunk->steps.data<uint8_t>(kTerminated)[2], 0);
  EXPECT_EQ(chunk->steps.data<float>(kObs)[3], 0);
  ASSERT_EQ(chunk->episodes.size(), 1U);
  EXPECT_EQ(chunk->episodes[0].length, 3);
  EXPECT_EQ(chunk->episodes[0].episode_return, 1 + 2 + 3);
  EXPECT_TRUE(chunk->episodes[0].truncated);
}

TEST(EnvRing, ObservationIsParkedBetweenTwoChunks) {
  EnvRing ring = ring_of(testing::scripted(0, false));
  EnvSlot& slot = ring.slot(0);
  ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
  ASSERT_TRUE(play(ring, slot, kRows).ok());
  const auto first = ring.close_chunk(slot);
  EXPECT_EQ(*static_cast<const float*>(ring.observation(slot, 0)), kRows);
  ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
  EXPECT_EQ(slot.chunk->steps.data<float>(kObs)[0], kRows);
  const auto second = ring.close_chunk(slot);
  EXPECT_EQ(first->number, 0);
  EXPECT_EQ(second->number, 1);
}

TEST(EnvRing, FaultsNameSlotAndStep) {
  for (const char* fault : {"nan-obs", "inf-reward", "error", "throw"}) {
    SCOPED_TRACE(fault);
    EnvRing ring = ring_of(std::string("faulty:") + fault + "@2");
    EnvSlot& slot = ring.slot(1);
    ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
    const Status status = play(ring, slot, 2, 0);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("slot 11, step 2"));
  }
}

TEST(EnvRing, OnlyNanAndInfAreDataLoss) {
  const auto code_of = [](const char* env) {
    EnvRing ring = ring_of(env);
    EXPECT_TRUE(ring.open_chunk(ring.slot(0), blank(ring)).ok());
    return play(ring, ring.slot(0), 2, 0).code();
  };
  EXPECT_EQ(code_of("faulty:nan-obs@2"), Code::DataLoss);
  EXPECT_EQ(code_of("faulty:inf-reward@2"), Code::DataLoss);
  EXPECT_NE(code_of("faulty:error@2"), Code::DataLoss);
}

TEST(EnvRing, ReplacementDoesNotPlayTheSameEpisodesAgain) {
  const auto start = [](int64_t attempt) {
    EnvRing ring = ring_of("CartPole-v1", 1, attempt);
    EXPECT_TRUE(ring.open_chunk(ring.slot(0), blank(ring)).ok());
    return std::pair(ring.slot(0).chunk->steps.data<float>(kObs)[0], ring.slot(0).draws);
  };
  EXPECT_EQ(start(0), start(0));
  EXPECT_NE(start(0).first, start(1).first);
  EXPECT_NE(start(0).second, start(1).second);
}

TEST(EnvRing, SavedRingFitsIntoALargerAndASmallerOne) {
  const auto ring = [](int64_t size) {
    return *EnvRing::make("CartPole-v1", size, 0, RandomKey(1));
  };
  EnvRing from = ring(2);
  ASSERT_TRUE(from.open_chunk(from.slot(1), blank(from)).ok());
  ASSERT_TRUE(play(from, from.slot(1), kRows).ok());
  from.close_chunk(from.slot(1));
  Snapshot saved;
  ASSERT_TRUE(from.save(saved).ok());

  EnvRing larger = ring(3);
  ASSERT_TRUE(larger.load(saved).ok());
  EXPECT_EQ(larger.slot(1).life, from.slot(1).life);
  EXPECT_EQ(larger.slot(2).life, 0);
  EXPECT_TRUE(larger.slot(2).needs_reset);
  EXPECT_TRUE(larger.open_chunk(larger.slot(2), blank(larger)).ok());
  EnvRing smaller = ring(1);
  EXPECT_TRUE(smaller.load(saved).ok());
}

TEST(EnvRing, SavedRingGoesOnBitForBit) {
  EnvRing ring = ring_of("CartPole-v1");
  EnvSlot& slot = ring.slot(1);
  ASSERT_TRUE(ring.open_chunk(slot, blank(ring)).ok());
  ASSERT_TRUE(play(ring, slot, kRows).ok());
  ring.close_chunk(slot);
  Snapshot saved;
  ASSERT_TRUE(ring.save(saved).ok());

  EnvRing other = ring_of("CartPole-v1");
  ASSERT_TRUE(other.load(saved).ok());
  for (EnvRing* each : {&ring, &other}) {
    ASSERT_TRUE(each->open_chunk(each->slot(1), blank(*each)).ok());
    ASSERT_TRUE(play(*each, each->slot(1), kRows, 0).ok());
  }
  const auto a = ring.close_chunk(slot);
  const auto b = other.close_chunk(other.slot(1));
  EXPECT_EQ(b->number, 1);
  EXPECT_EQ(std::memcmp(a->steps.data<float>(kObs), b->steps.data<float>(kObs),
                        kRows * 4 * sizeof(float)),
            0);
}

}  // namespace
}  // namespace sluice
