#include "inference/speculation/acceptance.h"

#include "dataflow/base/random.h"
#include "inference/sampler/sampling_reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

std::vector<TokenProbability> spread(const std::vector<double>& p) {
  std::vector<TokenProbability> out;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) out.push_back({static_cast<int32_t>(i), p[i]});
  }
  return out;
}

/// Draws from the draft, accepts or resamples, 1e5 times; the share accepted goes to `accepted`.
std::vector<int64_t> results(const std::vector<double>& target, const std::vector<double>& draft,
                             double* accepted = nullptr) {
  const auto p = spread(target), q = spread(draft);
  std::vector<int64_t> seen(target.size(), 0);
  constexpr int kDraws = 100'000;
  int kept = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const int64_t drafted = draw_token(q, sampling_uniform(3, 0, i, kDraftUse));
    const Acceptance got = accept_or_resample(p, q, drafted, sampling_uniform(3, 0, i, kAcceptUse),
                                              sampling_uniform(3, 0, i, kResampleUse));
    if (got.accepted) {
      EXPECT_EQ(got.token, drafted);
      ++kept;
    }
    ++seen[static_cast<size_t>(got.token)];
  }
  if (accepted != nullptr) *accepted = static_cast<double>(kept) / kDraws;
  return seen;
}

TEST(Acceptance, WhateverTheDraftTheResultFollowsTheTarget) {
  const std::vector<double> target = {0.4, 0.25, 0.15, 0.1, 0.05, 0.05, 0, 0};
  const std::vector<std::vector<double>> drafts = {
      target,
      {0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125},  // knows nothing
      {0, 0, 0, 0, 0, 0, 0.5, 0.5},                              // always wrong
      {0, 1, 0, 0, 0, 0, 0, 0},                                  // one-hot
      {0.05, 0.05, 0.1, 0.15, 0.25, 0.4, 0, 0},                  // the wrong way round
      {0.5, 0.3, 0.2, 0, 0, 0, 0, 0}};                           // cut shorter
  for (const auto& draft : drafts) {
    double accepted = 0, overlap = 0;
    const auto seen = results(target, draft, &accepted);
    EXPECT_GT(reference::chi_square_p(seen, target), 0.001);
    for (size_t i = 0; i < target.size(); ++i) overlap += std::min(target[i], draft[i]);
    EXPECT_NEAR(accepted, overlap, 0.01);  // section 3.1 of the paper
  }
}

TEST(Acceptance, TheSameDistributionAcceptsAlways) {
  double accepted = 0;
  results({0.5, 0.3, 0.2}, {0.5, 0.3, 0.2}, &accepted);
  EXPECT_EQ(accepted, 1);
}

TEST(Acceptance, GreedyTargetsGiveTheirTokenAlways) {
  const auto target = spread({0, 0, 1});
  for (const auto& draft : {spread({0.5, 0.5, 0}), spread({0.2, 0.2, 0.6}), spread({0, 0, 1})}) {
    for (uint64_t i = 0; i < 200; ++i) {
      const int64_t drafted = draw_token(draft, sampling_uniform(1, 0, i, kDraftUse));
      const auto got = accept_or_resample(target, draft, drafted, sampling_uniform(1, 0, i, 1),
                                          sampling_uniform(1, 0, i, 2));
      EXPECT_EQ(got.token, 2);
      EXPECT_EQ(got.accepted, drafted == 2);
    }
  }
}

TEST(Acceptance, ExtremeUniformsNeverGiveAnImpossibleToken) {
  const auto target = spread({0.5, 0, 0.5, 0}), draft = spread({0.25, 0.25, 0.25, 0.25});
  for (const double u : {0.0, 0.5, std::nextafter(1.0, 0.0)}) {
    for (const double v : {0.0, 0.5, std::nextafter(1.0, 0.0)}) {
      for (int64_t drafted = 0; drafted < 4; ++drafted) {
        const int64_t token = accept_or_resample(target, draft, drafted, u, v).token;
        EXPECT_TRUE(token == 0 || token == 2);
      }
    }
  }
}

TEST(Acceptance, SamplersDistributionsWithCutsKeepTheTarget) {
  const std::vector<float> row = {2.0F, 1.0F, 0.5F, 0.0F, -0.5F, 1.5F, -1.0F, -3.0F};
  const std::vector<float> other = {0.0F, 2.0F, 1.0F, 0.0F, 1.0F, -1.0F, 2.0F, 0.5F};
  SamplingParams params;
  params.temperature = 0.8F;
  params.top_p = 0.9F;
  const std::vector<double> p = reference::distribution(row, params);
  const std::vector<double> q = reference::distribution(other, params);
  EXPECT_GT(reference::chi_square_p(results(p, q), p), 0.001);
}

}  // namespace
}  // namespace sluice
