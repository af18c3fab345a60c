#include "inference/sampler/sampling_kernels.h"

#include "inference/sampler/sampling_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice {
namespace {

class SamplingKernelsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!supported(GetParam())) GTEST_SKIP() << "not on this CPU";
  }
};

TEST_P(SamplingKernelsTest, AllPassesEqualPlainLoopsForEveryLength) {
  const SamplingKernels& k = sampling_kernels(GetParam());
  for (const int64_t n : {1, 7, 16, 63, 64, 65, 200, 1000}) {
    std::vector<float> x = reference::row(n, 5, 3);
    if (n > 5) x[4] = -INFINITY;
    const float max = *std::max_element(x.begin(), x.end());
    const auto size = static_cast<size_t>(n);
    std::vector<float> divided(size), e(size), maxima(size), sums(size);
    k.divide(x.data(), n, 0.7F, divided.data());
    k.exponentials(x.data(), n, max, e.data());
    k.block_max(x.data(), n, maxima.data());
    k.block_sums(x.data(), n, max, sums.data());
    EXPECT_EQ(k.possible(x.data(), n), n > 5 ? n - 1 : n);
    for (size_t begin = 0, b = 0; begin < size; begin += SamplingKernels::kBlock, ++b) {
      const size_t end = std::min(size, begin + SamplingKernels::kBlock);
      double sum = 0;
      float greatest = -INFINITY;
      for (size_t i = begin; i < end; ++i) {
        const double exact = std::exp(static_cast<double>(x[i]) - max);
        EXPECT_EQ(divided[i], x[i] / 0.7F);
        EXPECT_NEAR(e[i], exact, 1e-6);
        sum += exact;
        greatest = std::max(greatest, x[i]);
      }
      EXPECT_EQ(maxima[b], greatest);
      EXPECT_NEAR(sums[b], sum, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, SamplingKernelsTest,
                         testing::Values(Isa::Plain, Isa::Avx2, Isa::Avx512),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace sluice
