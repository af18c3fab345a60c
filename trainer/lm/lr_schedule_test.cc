#include "trainer/lm/lr_schedule.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sluice {
namespace {

TEST(LrSchedule, FollowsItsTable) {
  struct Case {
    LrSchedule schedule;
    std::vector<std::pair<int64_t, double>> factors;
  };
  const std::vector<Case> table = {
      {{}, {{0, 1}, {1000, 1}}},
      {{LrShape::Constant, 4, 0, 0, 0.1}, {{0, 0.25}, {2, 0.75}, {3, 1}, {4, 1}, {99, 1}}},
      {{LrShape::Linear, 0, 10, 0, 0.1}, {{0, 1}, {5, 0.5}, {9, 0.1}, {10, 0}, {11, 0}}},
      {{LrShape::Linear, 2, 10, 0.2, 0.1}, {{0, 0.5}, {1, 1}, {2, 1}, {6, 0.6}, {10, 0.2}}},
      {{LrShape::Cosine, 0, 8, 0, 0.1},
       {{0, 1}, {2, (1 + std::sqrt(0.5)) / 2}, {4, 0.5}, {6, (1 - std::sqrt(0.5)) / 2}, {8, 0}}},
      {{LrShape::Cosine, 0, 8, 0.5, 0.1}, {{0, 1}, {4, 0.75}, {8, 0.5}, {100, 0.5}}},
      {{LrShape::Wsd, 2, 20, 0, 0.25},
       {{0, 0.5}, {2, 1}, {14, 1}, {15, 1}, {16, 0.8}, {19, 0.2}, {20, 0}}},
  };
  for (const Case& c : table) {
    for (const auto& [step, factor] : c.factors) {
      EXPECT_NEAR(c.schedule.factor(step), factor, 1e-12)
          << "shape " << static_cast<int>(c.schedule.shape) << " step " << step;
    }
  }
}

TEST(LrSchedule, NeverRisesAfterTheWarmUpNorLeavesItsBounds) {
  for (const LrShape shape : {LrShape::Constant, LrShape::Linear, LrShape::Cosine, LrShape::Wsd}) {
    const LrSchedule schedule{shape, 5, 40, 0.1, 0.5};
    double last = 1;
    for (int64_t step = 5; step < 60; ++step) {
      const double factor = schedule.factor(step);
      EXPECT_LE(factor, last);
      EXPECT_GE(factor, 0.1);
      last = factor;
    }
  }
}

TEST(LrSchedule, RefusesAFallWithoutSteps) {
  EXPECT_FALSE((LrSchedule{LrShape::Cosine, 10, 10, 0, 0.1}).check().ok());
  EXPECT_TRUE((LrSchedule{LrShape::Cosine, 10, 11, 0, 0.1}).check().ok());
  EXPECT_TRUE((LrSchedule{LrShape::Constant, 10, 0, 0, 0.1}).check().ok());
}

TEST(LrSchedule, IsSetByName) {
  LrSchedule schedule;
  ConfigBinder binder;
  schedule.bind(binder);
  ASSERT_TRUE(binder.set("shape=wsd", "test").ok());
  EXPECT_EQ(schedule.shape, LrShape::Wsd);
  EXPECT_FALSE(binder.set("shape=exponential", "test").ok());
}

}  // namespace
}  // namespace sluice
