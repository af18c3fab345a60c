#include "inference/kernels/linear_kernels.h"

#include "dataflow/base/random.h"
#include "inference/kernels/bf16_unit.h"
#include "inference/kernels/linear_product.h"
#include "inference/kernels/packed_matrix.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice {
namespace {

using Floats = std::vector<float>;

constexpr WeightFormat kPacked[] = {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8};
constexpr Isa kVariants[] = {Isa::Plain, Isa::Avx2, Isa::Avx512};

Floats noise(int64_t n, uint64_t seed) {
  Floats x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = RandomKey(seed).normal(i)[0];
  return x;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A layer, packed, and what its weights then stand for.
struct Layer {
  Layer(WeightFormat format, int64_t outputs, int64_t inputs, int64_t group = PackedMatrix::kGroup)
      : out(outputs),
        in(inputs),
        weight(noise(out * in, 1)),
        bias(noise(out, 2)),
        packed(format, {out}, in, group),
        groups(group) {
    packed.pack(0, weight.data());
    stored.assign(weight.begin(), weight.end());
    for (int64_t i = 0; i < out; ++i) {
      for (int64_t g = 0; g < in; g += group) round(format, i, g, std::min(in, g + group));
    }
  }

  void round(WeightFormat format, int64_t row, int64_t begin, int64_t end) {
    float largest = 0;
    for (int64_t k = begin; k < end; ++k) largest = std::max(largest, std::fabs(at(row, k)));
    for (int64_t k = begin; k < end; ++k) {
      double& w = stored[static_cast<size_t>(row * in + k)];
      if (format == WeightFormat::Int8) w = std::nearbyint(w / largest * 127) * largest / 127;
      if (format != WeightFormat::Bf16) continue;
      int exponent = 0;
      const double fraction = std::frexp(w, &exponent);
      w = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
    }
  }
  float at(int64_t row, int64_t k) const { return weight[static_cast<size_t>(row * in + k)]; }

  Floats multiply(Isa isa, const Floats& x, bool with_bias = true) const {
    return multiply(isa, packed.view(), x, with_bias);
  }
  Floats multiply(Isa isa, const LinearWeights& w, const Floats& x, bool with_bias = true) const {
    const LinearKernels& kernels = linear_kernels(isa);
    const int64_t rows = static_cast<int64_t>(x.size()) / in;
    Floats y(static_cast<size_t>(rows * out), 77.0F);
    const float* from = with_bias ? bias.data() : nullptr;
    if (w.format == WeightFormat::Int8) {
      const Rounded rounded(kernels, w, x, rows);
      kernels.multiply_rounded(w, 0, packed.panels(), rounded.view(), rows, from, y.data(), out);
      return y;
    }
    Floats scratch(static_cast<size_t>(kernels.scratch()), 55.0F);
    kernels.multiply(w, 0, packed.panels(), x.data(), in, rows, from, y.data(), out,
                     scratch.data());
    return y;
  }

  struct Rounded {
    Rounded(const LinearKernels& kernels, const LinearWeights& w, const Floats& x, int64_t rows)
        : numbers(static_cast<size_t>(rows * RoundedRows::stride(w.in)), int16_t{77}),
          factors(static_cast<size_t>(rows * w.groups()), 77.0F) {
      kernels.round(w, x.data(), w.in, rows, numbers.data(), factors.data());
    }
    RoundedRows view() const { return {numbers.data(), factors.data()}; }
    std::vector<int16_t> numbers;
    Floats factors;
  };

  /// What Int8 weights multiply instead of x, from the definition.
  Floats seen(const Floats& x) const {
    if (packed.format() != WeightFormat::Int8) return x;
    Floats out_x = x;
    for (int64_t row = 0; row * in < static_cast<int64_t>(x.size()); ++row) {
      for (int64_t g = 0; g < in; g += groups) {
        const auto begin = out_x.begin() + row * in + g;
        const auto end = out_x.begin() + row * in + std::min(in, g + groups);
        float largest = 0;
        for (auto at = begin; at != end; ++at) largest = std::max(largest, std::fabs(*at));
        for (auto at = begin; at != end; ++at) {
          *at = std::nearbyint(*at * (32767 / largest)) * (largest / 32767);
        }
      }
    }
    return out_x;
  }

  /// The largest difference from the definition in double, in units of what the sum adds up.
  double error(const Floats& given, const Floats& y, bool with_bias) const {
    const Floats x = seen(given);
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / out;
      const auto column = static_cast<int64_t>(i) % out;
      double sum = with_bias ? static_cast<double>(bias[static_cast<size_t>(column)]) : 0;
      double size = std::fabs(sum);
      for (int64_t k = 0; k < in; ++k) {
        const double product = stored[static_cast<size_t>(column * in + k)] *
                               static_cast<double>(x[static_cast<size_t>(row * in + k)]);
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
  int64_t groups;
  std::vector<double> stored;
};

struct Shape {
  int64_t out;
  int64_t in;
};
constexpr Shape kShapes[] = {{1, 1}, {3, 5}, {16, 16}, {17, 31}, {40, 4}, {130, 130}, {70, 300}};
constexpr int64_t kRows[] = {1, 2, 3, 4, 5, 6, 7, 11, 13, 25};

TEST(LinearKernels, EveryVariantIsTheDefinitionAndGivesTheSameBits) {
  for (const WeightFormat format : kPacked) {
    for (const Shape shape : kShapes) {
      const Layer layer(format, shape.out, shape.in);
      for (const int64_t rows : kRows) {
        const Floats x = noise(rows * shape.in, 3);
        for (const bool bias : {false, true}) {
          SCOPED_TRACE(fmt::format("{} {}x{}, {} rows", name(format), shape.out, shape.in, rows));
          const Floats plain = layer.multiply(Isa::Plain, x, bias);
          EXPECT_LE(layer.error(x, plain, bias), 1e-6);
          for (const Isa isa : kVariants) {
            if (!supported(isa)) continue;
            EXPECT_TRUE(same_bits(layer.multiply(isa, x, bias), plain)) << name(isa);
          }
        }
      }
    }
  }
}

TEST(LinearKernels, Avx512RunsWhereTheCpuHasIt) {
  if (!supported(Isa::Avx512)) GTEST_SKIP() << "this CPU has no AVX-512";
  const Layer layer(WeightFormat::Bf16, 130, 300);
  const Floats x = noise(200 * 300, 3);
  EXPECT_TRUE(same_bits(layer.multiply(Isa::Avx512, x), layer.multiply(Isa::Plain, x)));
}

TEST(LinearKernels, RowsDoNotDependOnTheirNumber) {
  for (const WeightFormat format : kPacked) {
    const Layer layer(format, 83, 530);
    const Floats x = noise(257 * 530, 4);
    const Floats all = layer.multiply(active_isa(), x);
    for (const int64_t rows : {1, 2, 3, 5, 6, 8, 64, 193, 256}) {
      for (const int64_t first : {int64_t{0}, int64_t{7}, 257 - rows}) {
        if (first + rows > 257) continue;
        const Floats some(x.begin() + first * 530, x.begin() + (first + rows) * 530);
        const Floats want(all.begin() + first * 83, all.begin() + (first + rows) * 83);
        EXPECT_TRUE(same_bits(layer.multiply(active_isa(), some), want))
            << name(format) << ": rows " << first << " to " << first + rows;
      }
    }
  }
}

TEST(LinearKernels, UnpackedRowsGiveTheBitsOfPackedOnes) {
  for (const Isa isa : kVariants) {
    if (!supported(isa)) continue;
    const Layer layer(WeightFormat::Fp32, 83, 530);
    LinearWeights rows = layer.packed.view();
    rows.format = WeightFormat::Rows;
    rows.data = layer.weight.data();
    rows.panel_stride = layer.in;
    for (const int64_t count : {1, 6, 40}) {
      const Floats x = noise(count * layer.in, 5);
      EXPECT_TRUE(same_bits(layer.multiply(isa, rows, x), layer.multiply(isa, x))) << name(isa);
    }
  }
}

TEST(LinearKernels, SmallGroupsOfInt8AreScaledEach) {
  for (const int64_t group : {4, 32, 64}) {
    Layer layer(WeightFormat::Int8, 20, 150, group);
    for (const int64_t rows : {1, 9}) {
      const Floats x = noise(rows * 150, 6);
      const Floats plain = layer.multiply(Isa::Plain, x);
      EXPECT_LE(layer.error(x, plain, true), 1e-6) << group;
      EXPECT_TRUE(same_bits(layer.multiply(active_isa(), x), plain)) << group;
    }
  }
}

TEST(LinearKernels, InputsOfInt8KeepSixteenBitsOfTheLargestInTheirGroup) {
  const Layer layer(WeightFormat::Int8, 1, 300);
  const LinearWeights w = layer.packed.view();
  Floats x = noise(2 * 300, 12);
  for (size_t i = 128; i < 256; ++i) x[i] = 0;        // a group of zeros
  for (size_t i = 300; i < 428; ++i) x[i] *= 1e-38F;  // nothing to speak of
  for (size_t i = 428; i < 556; ++i) x[i] *= 1e30F;
  for (const Isa isa : kVariants) {
    if (!supported(isa)) continue;
    const Layer::Rounded rounded(linear_kernels(isa), w, x, 2);
    for (size_t row = 0; row < 2; ++row) {
      for (size_t k = 0; k < 300; ++k) {
        const float factor = rounded.factors[row * 3 + k / 128];
        const float q = rounded.numbers[row * static_cast<size_t>(RoundedRows::stride(300)) + k];
        EXPECT_NEAR(q * factor, x[row * 300 + k], factor * 0.51F + 1e-30F) << name(isa) << k;
      }
      // What pads the last group multiplies as zero.
      EXPECT_EQ(rounded.numbers[row * static_cast<size_t>(RoundedRows::stride(300)) + 300], 0);
    }
    EXPECT_EQ(rounded.factors[1], 0);
    EXPECT_EQ(rounded.factors[3], 0);
  }
}

TEST(LinearKernels, NotANumberStaysInItsRow) {
  for (const WeightFormat format : kPacked) {
    const Layer layer(format, 20, 33);
    for (const int64_t rows : {2, 30}) {
      Floats x = noise(rows * 33, 7);
      const Floats clean = layer.multiply(active_isa(), x);
      x[33 + 5] = std::numeric_limits<float>::quiet_NaN();
      const Floats dirty = layer.multiply(active_isa(), x);
      for (size_t i = 0; i < dirty.size(); ++i) {
        if (i / 20 == 1) {
          EXPECT_TRUE(std::isnan(dirty[i]));
        } else {
          EXPECT_EQ(dirty[i], clean[i]);
        }
      }
    }
  }
}

TEST(PackedMatrix, AWeightThatIsNotANumberSpoilsItsOutputOnly) {
  for (const WeightFormat format : kPacked) {
    Layer layer(format, 20, 40);
    layer.weight[3 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
    layer.packed.pack(0, layer.weight.data());
    const Floats y = layer.multiply(active_isa(), noise(40, 8));
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 3) << name(format);
  }
}

TEST(PackedMatrix, LayersOfOneInputStandSideBySideOrAlone) {
  const std::vector<int64_t> outputs = {33, 7, 16};
  const Floats weight = noise(56 * 50, 9);
  const Floats x = noise(5 * 50, 10);
  for (const WeightFormat format : kPacked) {
    PackedMatrix packed(format, outputs, 50);
    for (int64_t i = 0; i < 3; ++i) packed.pack(i, weight.data() + packed.column(i) * 50);
    ASSERT_EQ(packed.column(3), 56);
    Floats all(5 * 56);
    linear_product(packed.view(), packed.panels(), x.data(), 5, nullptr, all.data(), 56);
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t n = outputs[static_cast<size_t>(i)];
      Floats own(static_cast<size_t>(5 * n));
      linear_product(packed.view(i), packed.panels(i), x.data(), 5, nullptr, own.data(), n);
      for (int64_t r = 0; r < 5; ++r) {
        for (int64_t j = 0; j < n; ++j) {
          EXPECT_EQ(own[static_cast<size_t>(r * n + j)],
                    all[static_cast<size_t>(r * 56 + packed.column(i) + j)]);
        }
      }
    }
  }
}

TEST(LinearProduct, DoesNotDependOnTheThreads) {
  const int threads = at::get_num_threads();
  for (const WeightFormat format : kPacked) {
    const Layer layer(format, 300, 400);
    for (const int64_t rows : {1, 3, 70}) {
      const Floats x = noise(rows * 400, 11);
      std::vector<Floats> results;
      for (const int n : {1, 2, 3}) {
        at::set_num_threads(n);
        results.emplace_back(static_cast<size_t>(rows * 300));
        linear_product(layer.packed.view(), layer.packed.panels(), x.data(), rows,
                       layer.bias.data(), results.back().data(), 300);
      }
      EXPECT_TRUE(same_bits(results[0], results[1]));
      EXPECT_TRUE(same_bits(results[0], results[2]));
      const bool by_unit = format == WeightFormat::Bf16 && active_bf16_unit() != Bf16Unit::None;
      EXPECT_TRUE(by_unit || same_bits(results[0], layer.multiply(active_isa(), x)));
    }
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace sluice
