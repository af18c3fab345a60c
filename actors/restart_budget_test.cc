#include "actors/restart_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

struct Case {
  const char* name;
  RestartPolicy policy;
  std::vector<TimeNs> failures;
  std::vector<std::optional<TimeNs>> delays;
};

TEST(RestartBudget, Table) {
  const RestartPolicy usual{3, 60 * kSecond, 100 * kMillisecond, 5 * kSecond};
  const std::vector<Case> cases = {
      {"doubles, then is spent",
       usual,
       {0, 1, 2, 3},
       {100 * kMillisecond, 200 * kMillisecond, 400 * kMillisecond, std::nullopt}},
      {"failures older than the window are forgiven",
       usual,
       {0, 1, 2, 60 * kSecond + 2},
       {100 * kMillisecond, 200 * kMillisecond, 400 * kMillisecond, 100 * kMillisecond}},
      {"a failure exactly one window old no longer counts",
       {1, 60 * kSecond, 1, 1},
       {0, 60 * kSecond},
       {1, 1}},
      {"a failure just inside the window counts",
       {1, 60 * kSecond, 1, 1},
       {0, 60 * kSecond - 1},
       {1, std::nullopt}},
      {"no restarts allowed", {0, kSecond, 1, 1}, {0}, {std::nullopt}},
      {"the delay is capped",
       {9, 60 * kSecond, 2 * kSecond, 5 * kSecond},
       {0, 0, 0, 0},
       {2 * kSecond, 4 * kSecond, 5 * kSecond, 5 * kSecond}},
      {"a first delay above the cap is capped", {9, kSecond, 9, 4}, {0}, {4}},
      {"a cap near the largest time does not overflow",
       {9, kForever, kForever / 2 + 1, kForever},
       {0, 0, 0},
       {kForever / 2 + 1, kForever, kForever}},
  };
  for (const Case& c : cases) {
    RestartBudget budget(c.policy);
    for (size_t i = 0; i < c.failures.size(); ++i) {
      EXPECT_EQ(budget.on_failure(c.failures[i]), c.delays[i]) << c.name << ", failure " << i;
    }
  }
}

}  // namespace
}  // namespace sluice
