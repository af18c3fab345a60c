#include "inference/engine/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;

constexpr VersionTag kOld{1, 1, 1, 1};
constexpr VersionTag kNew{1, 1, 2, 2};

GenRequest request(int32_t max_tokens) {
  GenRequest r;
  r.prompt = {5, 6};
  r.sampling.max_tokens = max_tokens;
  return r;
}

SampledToken token(int64_t id) {
  SampledToken t;
  t.token = id;
  t.logprob = -1;
  return t;
}

Generation start(const GenRequest& r, const GenerationLimits& limits) {
  auto rules = std::make_shared<const StopRules>(r.sampling, limits.end_tokens);
  auto g = Generation::start(r, 0, std::move(rules), nullptr);
  SLUICE_CHECK(g.ok()) << g.status().message();
  return *std::move(g);
}

FinishReason after(const GenRequest& r, const std::vector<int64_t>& tokens,
                   const GenerationLimits& limits) {
  Generation g = start(r, limits);
  for (const int64_t id : tokens) {
    EXPECT_EQ(g.out.reason, FinishReason::None);
    g.add(token(id), kOld);
  }
  return g.out.reason;
}

TEST(Generation, EndsByTheRightRule) {
  const GenerationLimits limits{100, 50, {2, 3}};
  EXPECT_EQ(after(request(3), {7, 8}, limits), FinishReason::None);
  EXPECT_EQ(after(request(3), {7, 8, 9}, limits), FinishReason::Length);
  EXPECT_EQ(after(request(3), {7, 3}, limits), FinishReason::Stop);
  EXPECT_EQ(after(request(2), {7, 2}, limits), FinishReason::Stop);
  GenRequest ignoring = request(3);
  ignoring.sampling.ignore_eos = true;
  EXPECT_EQ(after(ignoring, {2, 3, 2}, limits), FinishReason::Length);
  ignoring.sampling.stop_token_ids = {9};
  EXPECT_EQ(after(ignoring, {2, 9}, limits), FinishReason::Stop);
  GenRequest late = request(9);
  late.sampling.min_tokens = 2;
  late.sampling.stop_token_ids = {9};
  EXPECT_EQ(after(late, {9, 9, 9}, limits), FinishReason::Stop);
  EXPECT_EQ(longest(request(9), {100, 4, {}}), 4);
  EXPECT_EQ(longest(request(9), {100, 40, {}}), 11);
}

TEST(Generation, VersionsAreRuns) {
  const GenRequest r = request(9);
  const GenerationLimits limits{100, 50, {}};
  Generation g = start(r, limits);
  g.add(token(1), kOld);
  g.add(token(1), kOld);
  g.add(token(1), kNew);
  EXPECT_THAT(g.out.versions, ElementsAre(VersionRun{0, kOld}, VersionRun{2, kNew}));
  EXPECT_EQ(g.counts.generated(), 3);
}

TEST(Generation, GoesOnBehindWhatWasGeneratedUnlessThatIsTheEnd) {
  GenRequest r = request(5);
  r.generated = {7, 8};
  Generation g = start(r, {100, 50, {2}});
  EXPECT_EQ(g.counts.generated(), 2);
  g.add(token(9), kOld);
  EXPECT_THAT(g.out.tokens, ElementsAre(9));
  g.add(token(9), kOld);
  EXPECT_EQ(g.out.reason, FinishReason::None);
  g.add(token(9), kOld);
  EXPECT_EQ(g.out.reason, FinishReason::Length);
  r.generated = {7, 2};
  const auto rules = std::make_shared<const StopRules>(r.sampling, std::vector<int64_t>{2});
  EXPECT_EQ(Generation::start(r, 0, rules, nullptr).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace sluice
