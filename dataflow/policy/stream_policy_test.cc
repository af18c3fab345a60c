#include "dataflow/policy/stream_policy.h"

#include "dataflow/policy/service_policy.h"

#include <gmock/gmock.h>

#include <functional>

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StreamPolicy, DifferencesNameEverySettingWithBothValues) {
  StreamPolicy a;
  EXPECT_THAT(differences(a, a), IsEmpty());
  StreamPolicy b{7, WhenFull::Refuse, Sampling::Newest, 2, 3, 0.5, 4.5, 1, 5, 6, OnStale::Error};
  EXPECT_THAT(differences(a, b),
              ::testing::ElementsAre(
                  "capacity 1024 and 7", "when_full block and refuse", "sampling fifo and newest",
                  "reuse 1 and 2", "min_size 1 and 3", "samples_per_insert 0 and 0.5",
                  "ratio_tolerance 0 and 4.5", "admit_ahead -1 and 1", "admit_batch 0 and 5",
                  "max_staleness -1 and 6", "on_stale drop and error"));
  ConfigBinder binder;
  a.bind(binder);
  EXPECT_EQ(differences(a, b).size(), binder.keys().size()) << "a setting is not compared";
}

TEST(ServicePolicy, DifferencesNameEverySettingWithBothValues) {
  ServicePolicy a;
  EXPECT_THAT(differences(a, a), IsEmpty());
  const ServicePolicy b{1, 2, 3, 4};
  EXPECT_THAT(differences(a, b),
              ::testing::ElementsAre("batch_limit 64 and 1", "batch_within_us 0 and 2",
                                     "deadline_ms 0 and 3", "capacity 4096 and 4"));
  ConfigBinder binder;
  a.bind(binder);
  EXPECT_EQ(differences(a, b).size(), binder.keys().size()) << "a setting is not compared";
}

TEST(StreamPolicy, SaysInPlainWordsWhatCannotWork) {
  struct Row {
    std::function<void(StreamPolicy&)> change;
    const char* says;
  };
  const Row rows[] = {
      {[](auto& p) { p.capacity = 0; }, "capacity 0"},
      {[](auto& p) { p.min_size = 2000; }, "min_size 2000 is more than capacity 1024"},
      {[](auto& p) { p.admit_ahead = 1; }, "admit_batch of at least 1"},
      {[](auto& p) { p.admit_ahead = 0, p.admit_batch = 2000; }, "admit_batch 2000"},
      {[](auto& p) { p.on_stale = OnStale::Wait, p.max_staleness = 1; }, "needs admit_ahead"},
      {[](auto& p) {
         p.on_stale = OnStale::Wait, p.max_staleness = 1, p.admit_ahead = 2, p.admit_batch = 1;
       },
       "further ahead than max_staleness 1"},
      {[](auto& p) { p.max_staleness = 0, p.when_full = WhenFull::DropOldest; }, "drop_oldest"},
      {[](auto& p) { p.samples_per_insert = -1; }, "ratio -1"},
      {[](auto& p) { p.samples_per_insert = 1; }, "ratio_tolerance 0 is less than 1"},
      {[](auto& p) { p.samples_per_insert = 2, p.ratio_tolerance = 4; }, "cannot be reached"},
      {[](auto& p) { p.samples_per_insert = 1, p.ratio_tolerance = 4, p.reuse = 2; }, "for good"},
      {[](auto& p) { p.reuse = 0; }, "first-in-first-out"},
      {[](auto& p) { p.reuse = 0, p.sampling = Sampling::Uniform; }, "needs when_full drop_oldest"},
  };
  for (const Row& row : rows) {
    StreamPolicy policy;
    row.change(policy);
    EXPECT_THAT(problems(policy), Contains(HasSubstr(row.says)));
  }
  EXPECT_THAT(problems(StreamPolicy{}), IsEmpty());
}

TEST(StreamPolicy, IsSetByKeys) {
  StreamPolicy policy;
  ConfigBinder binder;
  policy.bind(binder);
  ASSERT_TRUE(binder.set("when_full=drop_oldest", "test").ok());
  ASSERT_TRUE(binder.set("sampling=uniform", "test").ok());
  ASSERT_TRUE(binder.set("samples_per_insert=2.5", "test").ok());
  ASSERT_TRUE(binder.set("on_stale=error", "test").ok());
  EXPECT_EQ(policy.when_full, WhenFull::DropOldest);
  EXPECT_EQ(policy.sampling, Sampling::Uniform);
  EXPECT_EQ(policy.samples_per_insert, 2.5);
  EXPECT_EQ(policy.on_stale, OnStale::Error);
  EXPECT_FALSE(binder.set("capacity=0", "test").ok());
}

TEST(ServicePolicy, SaysWhatCannotWorkAndIsSetByKeys) {
  ServicePolicy policy;
  EXPECT_THAT(problems(policy), IsEmpty());
  EXPECT_EQ(policy.deadline(), kForever);
  ConfigBinder binder;
  policy.bind(binder);
  ASSERT_TRUE(binder.set("deadline_ms=2", "test").ok());
  ASSERT_TRUE(binder.set("batch_within_us=2000", "test").ok());
  EXPECT_EQ(policy.deadline(), 2 * kMillisecond);
  EXPECT_THAT(problems(policy), Contains(HasSubstr("would expire after 2 ms")));
  policy.batch_limit = 0;
  EXPECT_THAT(problems(policy), Contains(HasSubstr("batch limit 0")));
}

}  // namespace
}  // namespace sluice
