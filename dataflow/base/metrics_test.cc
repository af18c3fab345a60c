#include "dataflow/base/metrics.h"

#include "dataflow/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

using ::testing::ElementsAre;

TEST(MetricRegistry, SameNameAndLabelsAreTheSameMetric) {
  MetricRegistry registry;
  Counter& a = registry.counter("steps", "steps", {{"worker", "rollout"}});
  a.add(3);
  registry.counter("steps", "steps", {{"worker", "rollout"}}).add(2);
  registry.counter("steps", "steps", {{"worker", "trainer"}}).add();
  EXPECT_EQ(a.value(), 5);
  EXPECT_EQ(registry.snapshot().size(), 2U);
}

TEST(MetricRegistry, AnotherKindUnderTheSameNameFailsACheck) {
  MetricRegistry registry;
  registry.counter("steps", "");
  EXPECT_THROW(registry.gauge("steps", ""), CheckFailure);
}

TEST(MetricRegistry, OneNameIsOneKindWhateverTheLabels) {
  MetricRegistry registry;
  registry.counter("steps", "", {{"worker", "rollout"}});
  EXPECT_THROW(registry.gauge("steps", "", {{"worker", "trainer"}}), CheckFailure);
}

TEST(MetricRegistry, AMetricIsFoundByItsLabelsWhateverTheOrderOfMaking) {
  MetricRegistry registry;
  const auto named = [&](const std::string& worker) -> Counter& {
    return registry.counter("steps", "", {{"worker", worker}});
  };
  for (const char* worker : {"m", "z", "a", "q", "b"}) named(worker).add(worker[0]);
  for (const char* worker : {"a", "b", "m", "q", "z"}) EXPECT_EQ(named(worker).value(), worker[0]);
  const Counter& other = registry.counter("steps", "", {{"channel", "m"}});
  EXPECT_EQ(other.value(), 0) << "the label's name counts too";
  std::string order;
  for (const auto& sample : registry.snapshot()) order += sample.labels[0].second;
  EXPECT_EQ(order, "mzaqbm") << "as they were made";
}

TEST(MetricRegistry, MeasuredAmountsAreCounters) {
  MetricRegistry registry;
  registry.double_counter("busy_seconds_total", "seconds", {{"worker", "a"}}).add(0.25);
  registry.double_counter("busy_seconds_total", "seconds", {{"worker", "a"}}).add(1.5);
  const auto samples = registry.snapshot();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].kind, MetricSample::Kind::Counter);
  EXPECT_EQ(samples[0].value, 1.75);
}

TEST(MetricRegistry, OneMetricDoesNotCountInTwoTypes) {
  MetricRegistry registry;
  registry.counter("steps", "");
  EXPECT_THROW(registry.double_counter("steps", ""), CheckFailure);
}

TEST(MetricRegistry, MetricsOfOneNameStandTogether) {
  MetricRegistry registry;
  registry.counter("steps", "steps done", {{"worker", "a"}}).add(1);
  registry.gauge("depth", "").set(9);
  registry.counter("steps", "steps done", {{"worker", "b"}}).add(2);
  const auto samples = registry.snapshot();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].labels, (Labels{{"worker", "a"}}));
  EXPECT_EQ(samples[1].labels, (Labels{{"worker", "b"}}));
  EXPECT_EQ(samples[1].help, "steps done");
  EXPECT_EQ(samples[1].value, 2);
  EXPECT_EQ(samples[2].name, "depth");
}

TEST(MetricRegistry, SnapshotTellsEverythingInOrder) {
  MetricRegistry registry;
  registry.gauge("depth", "items waiting", {{"channel", "c"}}).set(2.5);
  registry.counter("drops", "items dropped").add(7);
  registry.histogram("age", "age", {1, 2}).observe(1.5, 4);
  const auto samples = registry.snapshot();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].name, "depth");
  EXPECT_EQ(samples[0].help, "items waiting");
  EXPECT_EQ(samples[0].labels, (Labels{{"channel", "c"}}));
  EXPECT_EQ(samples[0].value, 2.5);
  EXPECT_EQ(samples[1].kind, MetricSample::Kind::Counter);
  EXPECT_EQ(samples[1].value, 7);
  EXPECT_EQ(samples[2].kind, MetricSample::Kind::Histogram);
  EXPECT_THAT(samples[2].bounds, ElementsAre(1, 2));
  EXPECT_THAT(samples[2].counts, ElementsAre(0, 4, 0));
  EXPECT_EQ(samples[2].sum, 6);
}

TEST(MetricRegistry, CountsOfManyThreadsAddUp) {
  MetricRegistry registry;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        registry.counter("c", "").add();
        registry.histogram("h", "", {10}).observe(i % 2 == 0 ? 1 : 100);
        if (i % 500 == 0) (void)registry.snapshot();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registry.counter("c", "").value(), kThreads * kEach);
  const Histogram& h = registry.histogram("h", "", {10});
  EXPECT_THAT(h.counts(), ElementsAre(kThreads * kEach / 2, kThreads * kEach / 2));
  EXPECT_EQ(h.sum(), kThreads * kEach / 2 * 101);
}

TEST(Histogram, BoundsBelongToTheirBucket) {
  Histogram h({1, 2, 4});
  h.observe(0);
  h.observe(1);
  h.observe(1.5);
  h.observe(4);
  h.observe(4.1);
  EXPECT_THAT(h.counts(), ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(h.count(), 5);
}

TEST(Histogram, QuantileInterpolatesInItsBucket) {
  Histogram h({10, 20, 30});
  EXPECT_EQ(h.quantile(0.5), 0);
  h.observe(5, 10);
  h.observe(15, 10);
  EXPECT_DOUBLE_EQ(h.quantile(0.25), 5);
  EXPECT_DOUBLE_EQ(h.quantile(0.5), 10);
  EXPECT_DOUBLE_EQ(h.quantile(0.75), 15);
  EXPECT_DOUBLE_EQ(h.quantile(1), 20);
}

TEST(Histogram, QuantileAboveTheLastBoundIsThatBound) {
  Histogram h({10, 20});
  h.observe(1000, 5);
  EXPECT_EQ(h.quantile(0.5), 20);
}

}  // namespace
}  // namespace sluice
