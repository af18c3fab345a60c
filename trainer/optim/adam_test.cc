#include "trainer/optim/adam.h"

#include "dataflow/base/random.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

std::vector<Isa> variants() {
  std::vector<Isa> result;
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (supported(isa)) result.push_back(isa);
  }
  return result;
}

TEST(Adam, FirstStepDependsOnEpsilonAsWorkedOut) {
  for (const Isa isa : variants()) {
    for (const auto& [eps, expected] : {std::pair{1e-8, 2.9997e-4}, std::pair{1e-5, 2.72727e-4}}) {
      Adam adam(1, {0.9, 0.999, eps, 0}, isa);
      float p = 0;
      const float g = 1e-4F;
      adam.step(&p, &g, 3e-4);
      EXPECT_NEAR(-static_cast<double>(p), expected, 1e-9);
    }
  }
}

TEST(Adam, ClipsTheGlobalNorm) {
  const float g[] = {3, 4};
  const double norm = global_norm(g, 2);
  EXPECT_EQ(norm, 5.0);
  EXPECT_NEAR(3 * clip_factor(norm, 0.5), 0.3, 1e-12);
  EXPECT_NEAR(4 * clip_factor(norm, 0.5), 0.4, 1e-12);
  EXPECT_EQ(clip_factor(norm, 6), 1.0);
  EXPECT_EQ(clip_factor(norm, 0), 1.0);
}

TEST(Adam, FollowsTheDefinitionOverManyStepsInEveryVariant) {
  for (const double decay : {0.0, 0.1}) {
    for (const Isa isa : variants()) {
      const int64_t n = 37;  // a tail in every width
      Adam adam(n, {0.9, 0.99, 1e-6, decay}, isa);
      std::vector<float> p(n, 1.0F), g(n);
      std::vector<double> rp(n, 1.0), m(n), v(n);
      for (int t = 1; t <= 20; ++t) {
        for (size_t i = 0; i < g.size(); ++i)
          g[i] = RandomKey(static_cast<uint64_t>(t)).normal(i)[0];
        adam.step(p.data(), g.data(), 1e-2, 0.5);
        for (size_t i = 0; i < g.size(); ++i) {
          const double x = 0.5 * static_cast<double>(g[i]);
          m[i] = 0.9 * m[i] + 0.1 * x;
          v[i] = 0.99 * v[i] + 0.01 * x * x;
          rp[i] *= 1 - 1e-2 * decay;
          rp[i] -= 1e-2 * (m[i] / (1 - std::pow(0.9, t))) /
                   (std::sqrt(v[i] / (1 - std::pow(0.99, t))) + 1e-6);
        }
      }
      for (size_t i = 0; i < g.size(); ++i)
        EXPECT_NEAR(static_cast<double>(p[i]), rp[i], 2e-6) << i;
    }
  }
}

TEST(Adam, AgreesWithLibTorchsFusedKernel) {
  const int64_t n = 100;
  at::Tensor p = at::ones({n}), m = at::zeros({n}), v = at::zeros({n}), t = at::zeros({});
  std::vector<float> mine(n, 1.0F);
  Adam adam(n, {0.9, 0.999, 1e-5, 0});
  for (int step = 0; step < 5; ++step) {
    at::Tensor g = at::randn({n});
    t.add_(1);
    std::vector<at::Tensor> ps{p}, gs{g}, ms{m}, vs{v}, none, ts{t};
    at::_fused_adam_(ps, gs, ms, vs, none, ts, 3e-4, 0.9, 0.999, 0.0, 1e-5, false, false);
    adam.step(mine.data(), g.data_ptr<float>(), 3e-4);
  }
  for (int64_t i = 0; i < n; ++i)
    EXPECT_NEAR(mine[static_cast<size_t>(i)], p[i].item<float>(), 1e-6);
}

TEST(Adam, StepsABufferInPartsAsInOne) {
  constexpr int64_t kCount = 48;
  std::vector<float> p(kCount, 1.0F), g(kCount), whole(kCount, 1.0F), m(kCount), v(kCount);
  for (size_t i = 0; i < g.size(); ++i) g[i] = RandomKey(3).normal(i)[0];
  const AdamConfig config{0.9, 0.99, 1e-6, 0.1};
  Adam adam(kCount, config);
  for (int64_t step = 1; step <= 3; ++step) {
    adam.step(whole.data(), g.data(), 1e-2, 0.5);
    for (const int64_t first : {int64_t{0}, int64_t{16}}) {
      const int64_t count = first == 0 ? 16 : kCount - 16;
      adam_step(config, step, 1e-2, 0.5,
                {count, p.data() + first, g.data() + first, m.data() + first, v.data() + first});
    }
  }
  EXPECT_EQ(p, whole);
}

TEST(Adam, ContinuesFromASavedStateBitForBit) {
  Adam a(5), b(5);
  float pa[5] = {1, 2, 3, 4, 5}, pb[5];
  const float g[5] = {0.1F, -0.2F, 0.3F, 0.4F, -0.5F};
  a.step(pa, g, 1e-3);
  std::copy(pa, pa + 5, pb);
  ASSERT_TRUE(b.load(a.save()).ok());
  a.step(pa, g, 1e-3);
  b.step(pb, g, 1e-3);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pa[i], pb[i]);
  EXPECT_EQ(b.steps(), 2);
  EXPECT_FALSE(Adam(4).load(a.save()).ok());
}

}  // namespace
}  // namespace sluice
