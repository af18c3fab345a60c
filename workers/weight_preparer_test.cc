#include "workers/weight_preparer.h"

#include "models/io/checkpoint.h"
#include "models/transformer/loading.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

TimeNs in_ten_seconds() { return after(RealClock::instance().now(), 10 * kSecond); }

std::optional<Result<PreparedWeights>> finished(WeightPreparer& preparer) {
  const TimeNs end = in_ten_seconds();
  while (RealClock::instance().now() < end) {
    if (auto done = preparer.take()) return done;
    preparer.wait(end);
  }
  return std::nullopt;
}

Transformer tiny() {
  const auto checkpoint = Checkpoint::open(SLUICE_SOURCE_DIR "/models/io/testdata/tiny_llama");
  SLUICE_CHECK(checkpoint.ok()) << checkpoint.status().message();
  auto model = load_transformer(**checkpoint);
  SLUICE_CHECK(model.ok()) << model.status().message();
  return *std::move(model);
}

TEST(WeightPreparer, WeightsArePreparedOnAnotherThreadAndInstalledByTheCallers) {
  WeightPreparer preparer;
  const Transformer model = tiny();
  VirtualClock clock;
  std::vector<PreparedWeights> retired;
  EngineOptions options;
  options.blocks = 8;
  options.retire = [&](PreparedWeights old) { retired.push_back(std::move(old)); };
  auto engine = Engine::create(model, std::move(options), {1, 1, 1, 1}, clock);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::thread::id where;
  preparer.start([&] {
    where = std::this_thread::get_id();
    return (*engine)->prepare_weights(model.parameters());
  });
  EXPECT_TRUE(preparer.pending());
  auto ready = finished(preparer);
  ASSERT_TRUE(ready.has_value());
  ASSERT_TRUE(ready->ok()) << ready->status().message();
  EXPECT_FALSE(preparer.pending());
  EXPECT_NE(where, std::this_thread::get_id());
  const Transformer* before = &(*engine)->model();
  ASSERT_TRUE((*engine)->swap_weights(*std::move(*ready), {1, 1, 2, 2}, SwapMode::InFlight).ok());
  EXPECT_NE(&(*engine)->model(), before);
  ASSERT_EQ(retired.size(), 1U) << "the old weights are handed on, not freed by the swap";
  preparer.free(std::move(retired.front()));
}

TEST(WeightPreparer, WhatGoesWrongIsAStatus) {
  WeightPreparer preparer;
  preparer.start([]() -> Result<PreparedWeights> { throw std::runtime_error("no memory"); });
  auto done = finished(preparer);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status().code(), Code::Internal);
  preparer.start([]() -> Result<PreparedWeights> { return invalid_argument("a wrong shape"); });
  done = finished(preparer);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status().message(), "a wrong shape");
}

TEST(WeightPreparer, StopWaitsForTheTaskUnderWay) {
  bool ended = false;
  WeightPreparer preparer;
  preparer.start([&]() -> Result<PreparedWeights> {
    std::this_thread::yield();
    ended = true;
    return invalid_argument("unused");
  });
  preparer.stop();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace sluice
