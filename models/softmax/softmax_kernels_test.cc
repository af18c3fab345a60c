#include "models/softmax/softmax_kernels.h"

#include "dataflow/base/random.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

class SoftmaxKernelsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!supported(GetParam())) GTEST_SKIP() << "not on this CPU";
  }
  [[nodiscard]] static const SoftmaxKernels& kernels() { return softmax_kernels(GetParam()); }
};

std::vector<float> logits(int64_t n, float scale) {
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    out.push_back(scale * RandomKey(7).normal(static_cast<uint64_t>(i))[0]);
  }
  return out;
}

struct Sums {
  double lse = 0, entropy = 0;
};

Sums exact(const std::vector<float>& x) {
  double max = -INFINITY, sum = 0, weighted = 0;
  for (const float v : x) max = std::max(max, static_cast<double>(v));
  for (const float v : x) {
    const double e = std::exp(v - max);
    sum += e;
    if (e > 0) weighted += e * (v - max);
  }
  return {max + std::log(sum), std::log(sum) - weighted / sum};
}

/// Folds pieces of `piece` logits; the last is shorter.
Sums folded(const SoftmaxKernels& kernels, const std::vector<float>& x, size_t piece) {
  SoftmaxRow row{-FLT_MAX, 0, 0}, bare = row;
  for (size_t i = 0; i < x.size(); i += piece) {
    const auto n = static_cast<int64_t>(std::min(piece, x.size() - i));
    kernels.fold(x.data() + i, n, true, row);
    kernels.fold(x.data() + i, n, false, bare);
  }
  EXPECT_TRUE(row.sum == bare.sum || std::isnan(row.sum));
  return {row.max + std::log(row.sum), std::log(row.sum) - row.weighted / row.sum};
}

TEST_P(SoftmaxKernelsTest, FoldEqualsDoublesForEveryLengthPieceAndScale) {
  for (const int64_t n : {1, 7, 8, 17, 1000, 5003}) {
    for (const float scale : {0.1F, 1.0F, 30.0F}) {
      const std::vector<float> x = logits(n, scale);
      for (const size_t piece : {1000000, 1024, 13, 1}) {
        const Sums want = exact(x), got = folded(kernels(), x, piece);
        EXPECT_NEAR(got.lse, want.lse, 1e-6 * std::max(1.0, std::abs(want.lse)));
        EXPECT_NEAR(got.entropy, want.entropy, 3e-6 * std::max(1.0, want.entropy));
      }
    }
  }
}

TEST_P(SoftmaxKernelsTest, ForbiddenLogitsCountAsNothing) {
  std::vector<float> x = logits(100, 1);
  for (size_t i = 0; i < 60; ++i) x[i] = -INFINITY;
  const Sums want = exact(x), got = folded(kernels(), x, 16);
  EXPECT_NEAR(got.lse, want.lse, 1e-6);
  EXPECT_NEAR(got.entropy, want.entropy, 3e-6);
}

TEST_P(SoftmaxKernelsTest, NanAndInfinityAreSeen) {
  for (const float bad : {NAN, INFINITY}) {
    for (const size_t at : {0, 5, 99}) {
      std::vector<float> x = logits(100, 1);
      x[at] = bad;
      EXPECT_TRUE(std::isnan(folded(kernels(), x, 16).lse));
      EXPECT_TRUE(std::isnan(folded(kernels(), x, 1000).entropy));
    }
  }
}

TEST_P(SoftmaxKernelsTest, GradientEqualsDoubles) {
  for (const int64_t n : {1, 8, 21, 1000}) {
    for (const float q : {0.0F, 0.7F}) {
      std::vector<float> x = logits(n, 3);
      if (n > 1) x[1] = -INFINITY;
      const Sums sums = exact(x);
      const SoftmaxGradient row{static_cast<float>(sums.lse), -1.3F, q,
                                static_cast<float>(sums.entropy)};
      std::vector<float> got = x;
      kernels().gradient(got.data(), n, row);
      for (size_t i = 0; i < x.size(); ++i) {
        const double d = x[i] - sums.lse, p = std::exp(d);
        const double want = p > 0 ? -p * (-1.3 + q * (d + sums.entropy)) : 0;
        EXPECT_NEAR(got[i], want, 2e-6) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, SoftmaxKernelsTest,
                         testing::Values(Isa::Plain, Isa::Avx2, Isa::Avx512),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace sluice
