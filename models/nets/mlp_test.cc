#include "models/nets/mlp.h"

#include "dataflow/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace sluice {
namespace {

std::vector<Isa> variants() {
  std::vector<Isa> result;
  for (const Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512}) {
    if (supported(isa)) result.push_back(isa);
  }
  return result;
}

std::vector<float> numbers(int64_t n, uint64_t seed, float scale = 1) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = scale * RandomKey(seed).normal(i)[0];
  return v;
}

// The network written down as its definition says, in double.
struct Reference {
  MlpSpec spec;
  std::vector<double> parameters;

  std::vector<std::vector<double>> forward(const float* x) const {
    std::vector<std::vector<double>> h{{x, x + spec.inputs}};
    const double* p = parameters.data();
    for (int64_t l = 0; l < spec.layers(); ++l) {
      const int64_t in = spec.in(l), out = spec.out(l);
      std::vector<double> y(p + in * out, p + in * out + out);
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t o = 0; o < out; ++o)
          y[static_cast<size_t>(o)] += h.back()[static_cast<size_t>(i)] * p[i * out + o];
      }
      if (l + 1 < spec.layers()) {
        for (double& v : y)
          v = spec.activation == Activation::Tanh ? std::tanh(v) : std::max(v, 0.0);
      }
      p += (in + 1) * out;
      h.push_back(y);
    }
    return h;
  }

  void backward(const float* x, std::vector<double> d, std::vector<double>& gradient) const {
    const auto h = forward(x);
    int64_t at = spec.parameters();
    for (int64_t l = spec.layers(); l-- > 0;) {
      const int64_t in = spec.in(l), out = spec.out(l);
      at -= (in + 1) * out;
      std::vector<double> below(static_cast<size_t>(in));
      for (int64_t o = 0; o < out; ++o) {
        const double g = d[static_cast<size_t>(o)];
        gradient[static_cast<size_t>(at + in * out + o)] += g;
        for (int64_t i = 0; i < in; ++i) {
          const double a = h[static_cast<size_t>(l)][static_cast<size_t>(i)];
          gradient[static_cast<size_t>(at + i * out + o)] += g * a;
          const double slope =
              spec.activation == Activation::Tanh ? 1 - a * a : (a > 0 ? 1.0 : 0.0);
          below[static_cast<size_t>(i)] +=
              g * parameters[static_cast<size_t>(at + i * out + o)] * slope;
        }
      }
      d = below;
    }
  }
};

struct Case {
  MlpSpec spec;
  int64_t rows;
};

std::vector<Case> cases() {
  return {{{4, {64, 64}, 2, Activation::Tanh}, 96},   {{4, {64, 64}, 1, Activation::Tanh}, 37},
          {{3, {5}, 7, Activation::Tanh}, 11},        {{17, {33, 9, 70}, 3, Activation::Relu}, 50},
          {{1, {1}, 1, Activation::Tanh}, 1},         {{100, {3, 130}, 18, Activation::Tanh}, 13},
          {{8, {256, 256}, 4, Activation::Relu}, 29}, {{5, {16, 24}, 2, Activation::Relu}, 95}};
}

TEST(Mlp, EveryVariantMatchesTheDefinitionForwardAndBackward) {
  for (const Isa isa : variants()) {
    for (const auto& [spec, rows] : cases()) {
      SCOPED_TRACE(std::string(name(isa)) + " inputs " + std::to_string(spec.inputs));
      const auto parameters = numbers(spec.parameters(), 1, 0.2F);
      const Reference reference{spec, {parameters.begin(), parameters.end()}};
      Mlp mlp(spec, isa);
      mlp.pack(parameters.data());
      MlpScratch scratch(mlp);
      const int64_t ldx = mlp.padded_inputs();
      auto x = numbers(rows * ldx, 2);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = spec.inputs; i < ldx; ++i) x[static_cast<size_t>(r * ldx + i)] = 0;
      }
      mlp.forward_block(x.data(), ldx, rows, scratch);
      std::vector<double> expected(parameters.size());
      for (int64_t r = 0; r < rows; ++r) {
        const auto h = reference.forward(x.data() + r * ldx);
        std::vector<double> d;
        for (int64_t o = 0; o < spec.outputs; ++o) {
          EXPECT_NEAR(scratch.output()[r * scratch.output_stride() + o],
                      h.back()[static_cast<size_t>(o)], 2e-5);
          d.push_back(
              static_cast<double>(RandomKey(3).normal(static_cast<uint64_t>(r * 50 + o))[0]));
          scratch.d_output()[r * scratch.output_stride() + o] = static_cast<float>(d.back());
        }
        reference.backward(x.data() + r * ldx, d, expected);
      }
      AlignedFloats padded(static_cast<size_t>(mlp.gradient_floats()));
      mlp.backward_block(x.data(), ldx, rows, scratch, padded.data());
      std::vector<float> gradient(parameters.size());
      mlp.unpad_gradient(padded.data(), gradient.data());
      double largest = 1;
      for (const double g : expected) largest = std::max(largest, std::abs(g));
      for (size_t i = 0; i < gradient.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(gradient[i]), expected[i], 2e-5 * largest) << i;
      }
    }
  }
}

TEST(Mlp, ARowsResultDependsNeitherOnItsNeighboursNorOnItsPlace) {
  for (const Isa isa : variants()) {
    for (const auto& [spec, unused] : cases()) {
      (void)unused;
      const int64_t rows = Mlp::kBlockRows;
      const auto parameters = numbers(spec.parameters(), 4, 0.3F);
      Mlp mlp(spec, isa);
      mlp.pack(parameters.data());
      MlpScratch whole(mlp), part(mlp);
      const auto x = numbers(rows * spec.inputs, 5);
      mlp.forward_block(x.data(), spec.inputs, rows, whole);
      for (int64_t count = 1; count <= 13; ++count) {
        for (int64_t first = 0; first + count <= rows; first += 7) {
          mlp.forward_block(x.data() + first * spec.inputs, spec.inputs, count, part);
          for (int64_t r = 0; r < count; ++r) {
            ASSERT_EQ(0, std::memcmp(part.output() + r * part.output_stride(),
                                     whole.output() + (first + r) * whole.output_stride(),
                                     static_cast<size_t>(spec.outputs) * sizeof(float)))
                << name(isa) << " rows " << count << " at " << first;
          }
        }
      }
    }
  }
}

TEST(Mlp, TanhIsAccurateOverItsWholeRange) {
  for (const Isa isa : variants()) {
    // One input, one unit, identity output: the network is tanh itself.
    Mlp mlp({1, {1}, 1, Activation::Tanh}, isa);
    const float parameters[] = {1, 0, 1, 0};
    mlp.pack(parameters);
    MlpScratch scratch(mlp);
    double worst = 0;
    for (int i = -100000; i <= 100000; ++i) {
      const float x = static_cast<float>(i) * 1e-4F;
      mlp.forward_block(&x, 1, 1, scratch);
      const double expected = std::tanh(static_cast<double>(x));
      const double error = std::abs(static_cast<double>(scratch.output()[0]) - expected);
      worst = std::max(worst, i == 0 ? error : error / std::abs(expected));
    }
    EXPECT_LT(worst, 6e-7) << name(isa);
    EXPECT_GT(worst, 0.0);
  }
}

}  // namespace
}  // namespace sluice
