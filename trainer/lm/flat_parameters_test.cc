#include "trainer/lm/flat_parameters.h"

#include "trainer/lm/flat_adam.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

TEST(FlatParameters, MovesTensorsIntoOneBufferInWhichTheyStayLeaves) {
  const at::Tensor a = at::full({2, 3}, 1.5), b = at::full({4}, 2.5);
  const at::Tensor copy = a;
  const FlatParameters flat({{"a", a, "", true}, {"b", b, "", false}});
  EXPECT_EQ(flat.count(), 10);
  EXPECT_EQ(flat.size(), 32);
  EXPECT_EQ(flat.decayed(), 16);
  EXPECT_EQ(copy.data_ptr<float>(), flat.values());
  EXPECT_EQ(copy[1][2].item<float>(), 1.5F);
  EXPECT_TRUE(copy.is_leaf() && copy.requires_grad());
  flat.values()[16] = 7;
  EXPECT_EQ(b[0].item<float>(), 7.0F);
  EXPECT_EQ(flat.values()[6], 0.0F);  // padding
}

TEST(FlatParameters, GradientsSumUpInTheOtherBuffer) {
  const at::Tensor a = at::ones({2, 3}), b = at::ones({4});
  const FlatParameters flat({{"a", a, "", true}, {"b", b, "", true}});
  for (int i = 0; i < 2; ++i) ((a * 3).sum() + (b * b).sum()).backward();
  EXPECT_EQ(a.grad().data_ptr<float>(), flat.gradients());
  EXPECT_EQ(flat.gradients()[5], 6.0F);
  EXPECT_EQ(flat.gradients()[16], 4.0F);
  flat.zero_gradients();
  EXPECT_EQ(b.grad().abs().sum().item<float>(), 0.0F);
}

TEST(FlatParameters, KeepsAGroupEndToEnd) {
  const at::Tensor a = at::ones({3}), b = at::ones({5}), c = at::ones({1});
  const FlatParameters flat({{"a", a, "g", true}, {"b", b, "g", true}, {"c", c, "", true}});
  EXPECT_EQ(flat.entries()[1].offset, 3);
  EXPECT_EQ(flat.entries()[2].offset, 16);
}

TEST(FlatParameters, MakesMastersOfLowPrecisionTensors) {
  const at::Tensor a = at::full({2}, 1.5).to(at::kBFloat16);
  const FlatParameters flat({{"a", a, "", true}});
  EXPECT_EQ(a.scalar_type(), at::kFloat);
  EXPECT_EQ(a[1].item<float>(), 1.5F);
}

TEST(FlatAdam, IsAdamWithDecayForTheFirstNumbersOnly) {
  constexpr int64_t kSize = (1 << 16) + 64, kDecayed = (1 << 16) + 32;
  const AdamConfig config{0.9, 0.99, 1e-6, 0.1};
  AdamConfig without = config;
  without.weight_decay = 0;
  const at::Tensor g = at::randn({kSize});
  std::vector<float> p(kSize, 1.0F), all(kSize, 1.0F), none(kSize, 1.0F);
  FlatAdam mine(kSize, kDecayed, config);
  Adam decaying(kSize, config), plain(kSize, without);
  for (int i = 0; i < 3; ++i) {
    mine.step(p.data(), g.data_ptr<float>(), 1e-2, 0.5);
    decaying.step(all.data(), g.data_ptr<float>(), 1e-2, 0.5);
    plain.step(none.data(), g.data_ptr<float>(), 1e-2, 0.5);
  }
  for (size_t i = 0; i < p.size(); ++i) {
    ASSERT_EQ(p[i], i < static_cast<size_t>(kDecayed) ? all[i] : none[i]) << i;
  }
  EXPECT_EQ(mine.steps(), 3);
}

TEST(FlatNorm, IsTheNormOfManyShardsAndNotFiniteWhenANumberIsNot) {
  const at::Tensor x = at::randn({(1 << 17) + 5});
  const auto n = x.numel();
  EXPECT_NEAR(flat_norm(x.data_ptr<float>(), n), x.to(at::kDouble).norm().item<double>(), 1e-6);
  x[n - 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(flat_norm(x.data_ptr<float>(), n)));
  x[n - 1] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(flat_norm(x.data_ptr<float>(), n)));
}

}  // namespace
}  // namespace sluice
