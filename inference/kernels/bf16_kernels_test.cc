#include "inference/kernels/bf16_kernels.h"

#include "dataflow/base/random.h"
#include "inference/kernels/linear_product.h"
#include "inference/kernels/packed_matrix.h"
#include "inference/kernels/rounding.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice {
namespace {

using Floats = std::vector<float>;

Floats noise(int64_t n, uint64_t seed) {
  Floats x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = RandomKey(seed).normal(i)[0];
  return x;
}

float rounded(float x) { return float_of_bf16(bf16_of(x)); }

struct Layer {
  Layer(int64_t outputs, int64_t inputs)
      : out(outputs),
        in(inputs),
        weight(noise(out * in, 1)),
        bias(noise(out, 2)),
        packed(WeightFormat::Bf16, {out}, in) {
    packed.pack(0, weight.data());
  }

  Floats multiply(const Bf16Kernels& kernels, const Floats& x, bool with_bias = true) const {
    const int64_t rows = static_cast<int64_t>(x.size()) / in;
    std::vector<uint16_t> inputs(static_cast<size_t>(Bf16Rows::size(rows, in)), 0x7FC0);
    round_to_bf16(x.data(), in, rows, in, inputs.data());
    Floats y(static_cast<size_t>(rows * out), 77.0F);
    kernels.multiply(packed.view(), 0, packed.panels(), inputs.data(), rows,
                     with_bias ? bias.data() : nullptr, y.data(), out);
    return y;
  }

  /// The largest difference from the definition in double, in units of what the sum adds up.
  double error(const Floats& x, const Floats& y, bool with_bias) const {
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / out;
      const auto column = static_cast<int64_t>(i) % out;
      double sum = with_bias ? static_cast<double>(bias[static_cast<size_t>(column)]) : 0;
      double size = std::fabs(sum);
      for (int64_t k = 0; k < in; ++k) {
        const double product =
            static_cast<double>(rounded(weight[static_cast<size_t>(column * in + k)])) *
            static_cast<double>(rounded(x[static_cast<size_t>(row * in + k)]));
        sum += product;
        size += std::fabs(product);
      }
      worst = std::max(worst, std::fabs(sum - static_cast<double>(y[i])) / size);
    }
    return worst;
  }

  int64_t out;
  int64_t in;
  Floats weight;
  Floats bias;
  PackedMatrix packed;
};

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Shape {
  int64_t out;
  int64_t in;
};
constexpr Shape kShapes[] = {{1, 1}, {3, 5}, {16, 32}, {17, 31}, {40, 4}, {130, 130}, {70, 320}};
constexpr int64_t kRows[] = {1, 2, 3, 5, 7, 15, 16, 17, 31, 32, 33, 50};

void expect_products(const Bf16Kernels& kernels) {
  for (const Shape shape : kShapes) {
    const Layer layer(shape.out, shape.in);
    const Floats all = noise(50 * shape.in, 3);
    const Floats whole = layer.multiply(kernels, all);
    for (const int64_t rows : kRows) {
      SCOPED_TRACE(fmt::format("{}x{}, {} rows", shape.out, shape.in, rows));
      const Floats x(all.begin(), all.begin() + rows * shape.in);
      for (const bool bias : {false, true}) {
        EXPECT_LE(layer.error(x, layer.multiply(kernels, x, bias), bias), 2e-6);
      }
      const Floats want(whole.begin(), whole.begin() + rows * shape.out);
      EXPECT_TRUE(same_bits(layer.multiply(kernels, x), want)) << "depends on the other rows";
    }
  }
}

TEST(Bf16Kernels, VectorLoopsAreTheDefinition) { expect_products(internal::kBf16VectorPlain); }

TEST(Bf16Kernels, TileLoopsAreTheDefinition) { expect_products(internal::kBf16TilePlain); }

TEST(Bf16Kernels, Avx512RunsWhereTheCpuHasIt) {
  if (!supported(Bf16Unit::Avx512)) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  expect_products(bf16_kernels(Bf16Unit::Avx512));
}

TEST(Bf16Kernels, AmxRunsWhereTheCpuHasItAndTheProcessMayUseIt) {
  if (!supported(Bf16Unit::Amx)) GTEST_SKIP() << "no AMX-BF16, or not for this process";
  expect_products(bf16_kernels(Bf16Unit::Amx));
}

TEST(Bf16Kernels, NotANumberStaysInItsRow) {
  const Layer layer(20, 40);
  for (const Bf16Kernels* kernels : {&internal::kBf16VectorPlain, &internal::kBf16TilePlain}) {
    Floats x = noise(18 * 40, 7);
    x[17 * 40 + 5] = std::numeric_limits<float>::quiet_NaN();
    const Floats y = layer.multiply(*kernels, x);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 17) << i;
  }
}

TEST(Bf16Kernels, AProductGoesToTheUnitThatThisCpuHas) {
  const Layer layer(40, 70);
  const Floats x = noise(9 * 70, 8);
  Floats y(9 * 40);
  linear_product(layer.packed.view(), layer.packed.panels(), x.data(), 9, nullptr, y.data(), 40);
  const bool by_unit = active_bf16_unit() != Bf16Unit::None;
  EXPECT_EQ(layer.error(x, y, false) <= 2e-6, by_unit) << "inputs are rounded by a unit only";
}

}  // namespace
}  // namespace sluice
