#include "dataflow/base/shared_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

std::shared_ptr<const int> boxed(int value) { return std::make_shared<const int>(value); }

TEST(SharedCache, KeepsWhatWasUsedLastWithinItsWeight) {
  SharedCache<int> cache(31);
  cache.put("a", boxed(1), 9);
  cache.put("b", boxed(2), 9);
  cache.put("c", boxed(3), 9);
  const auto held = cache.find("b");
  ASSERT_NE(cache.find("a"), nullptr);  // now the latest
  cache.put("d", boxed(4), 19);         // b and c make room
  ASSERT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_EQ(cache.find("c"), nullptr);
  ASSERT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(*cache.find("a"), 1);
  ASSERT_NE(cache.find("d"), nullptr);
  EXPECT_EQ(*cache.find("d"), 4);
  EXPECT_EQ(*held, 2) << "lives on with its holder";
}

TEST(SharedCache, ReplacesAndRefusesWhatIsTooHeavy) {
  SharedCache<int> cache(20);
  cache.put("a", boxed(1), 9);
  cache.put("a", boxed(2), 9);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(*cache.find("a"), 2);
  cache.put("b", boxed(3), 20);  // with its name more than 20
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_EQ(*cache.find("a"), 2);
  cache.put("a", boxed(4), 30);
  EXPECT_EQ(cache.find("a"), nullptr) << "what is there is not what was put last";
}

TEST(SharedCache, ServesSeveralThreads) {
  SharedCache<int> cache(50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 2000; ++i) {
        const int value = (i * 7 + t) % 12;
        const std::string key = std::to_string(value);
        if (const auto found = cache.find(key)) {
          EXPECT_EQ(*found, value);
        } else {
          cache.put(key, boxed(value), 8);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.size(), 5U);
}

}  // namespace
}  // namespace sluice
