#include "inference/sampler/constraint/mask_pool.h"

#include "inference/sampler/constraint/constraint_cache.h"
#include "inference/sampler/constraint/constraint_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {
using testing::HasSubstr;

std::shared_ptr<const Constraint> compiled(const std::string& pattern) {
  auto made = Constraint::regex(pattern);
  SLUICE_CHECK(made.ok()) << made.status().message();
  return *made;
}

class Pooled : public testing::Test {
 protected:
  ConstraintFixture fixture_;
  MaskPool pool_{std::make_shared<const TokenTrie>(fixture_.trie())};
  std::vector<int64_t> stops_ = {fixture_.end()};
};

TEST_F(Pooled, SameConstraintAndStopIdsShareTheirMasks) {
  const auto constraint = compiled("[ab]+");
  const auto one = pool_.masks(constraint, stops_);
  EXPECT_EQ(pool_.masks(constraint, stops_), one);
  const std::vector<int64_t> none;
  EXPECT_NE(pool_.masks(constraint, none), one);
  EXPECT_NE(pool_.masks(compiled("[ab]+"), stops_), one) << "another object may be another text";
  EXPECT_EQ(pool_.size(), 3U);
}

TEST_F(Pooled, TheLatestStayAndTheOthersGoWithTheirRequests) {
  std::vector<std::shared_ptr<ConstraintMasks>> held;
  for (int i = 0; i < 9; ++i) {
    held.push_back(pool_.masks(compiled("a{" + std::to_string(i + 1) + "}"), stops_));
  }
  EXPECT_EQ(pool_.size(), 9U);
  const ConstraintMasks* last = held.back().get();
  const auto constraint = held.back()->constraint();
  held.clear();
  EXPECT_EQ(pool_.size(), MaskPool::kKept);
  EXPECT_EQ(pool_.masks(constraint, stops_).get(), last);
}

TEST_F(Pooled, AMaskOutlivesItsPlaceInTheCache) {
  ConstraintMasks masks = fixture_.masks(compiled("[ab]{0,3000}"));
  const auto first = masks.mask(ConstraintMasks::kStart);
  auto state = ConstraintMasks::kStart;
  for (int i = 0; i < 2000; ++i) state = masks.advance(state, 'a');
  for (int i = 0; i < 600; ++i) {
    static_cast<void>(masks.mask(state));
    state = masks.advance(state, 'b');
  }
  EXPECT_TRUE(first->allows('a'));
  EXPECT_FALSE(first->allows('c'));
}

TEST(ConstraintCacheOf, GivesTheSameObjectForTheSameText) {
  ConstraintCache cache;
  const auto schema = cache.json_schema(R"({"type":"integer"})");
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(*cache.json_schema(R"({"type":"integer"})"), *schema);
  EXPECT_NE(*cache.regex("a"), *cache.regex("b"));
  EXPECT_EQ(*cache.json_object(), *cache.json_object());
  const std::vector<std::string> apart = {"ab", "c"}, together = {"a", "bc"};
  EXPECT_NE(*cache.choice(apart), *cache.choice(together));
  EXPECT_EQ(*cache.choice(apart), *cache.choice(apart));
  EXPECT_EQ(cache.size(), 6U);
}

TEST(ConstraintCacheOf, KeepsNoFaultsAndReadsNoHugeText) {
  ConstraintCache cache;
  EXPECT_THAT(cache.regex("(").status().message(), HasSubstr("'('"));
  EXPECT_EQ(cache.size(), 0U);
  const std::string huge(ConstraintCache::kMaxText, ' ');
  EXPECT_THAT(cache.json_schema(huge).status().message(), HasSubstr("bytes"));
}

TEST(ConstraintCacheOf, ServesSeveralThreads) {
  ConstraintCache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&cache] {
      for (int i = 0; i < 60; ++i) {
        const auto made = cache.regex("a{" + std::to_string(i % 7) + "}b");
        EXPECT_TRUE(made.ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.size(), 7U);
}

TEST(ConstraintChoice, AllowsExactlyItsTexts) {
  const std::vector<std::string> texts = {"yes", "no", "nowhere", "é"};
  const auto made = Constraint::choice(texts);
  ASSERT_TRUE(made.ok());
  const ByteDfa& dfa = (*made)->automaton();
  const auto allowed = [&](std::string_view text) {
    const auto state = dfa.walk(ByteDfa::kStart, text);
    return state != ByteDfa::kDead && dfa.accepts(state);
  };
  for (const std::string& text : texts) EXPECT_TRUE(allowed(text)) << text;
  for (const char* text : {"", "ye", "yesno", "now", "\xC3"}) EXPECT_FALSE(allowed(text)) << text;
  EXPECT_FALSE(Constraint::choice({}).ok());
  EXPECT_GT((*made)->bytes(), dfa.size());
}

}  // namespace
}  // namespace sluice
