#pragma once
#include "dataflow/base/simd.h"
#include "models/softmax/softmax_kernels.h"

#include <cfloat>
#include <cmath>

/// The kernels' one source, instantiated by softmax_kernels_{plain,avx2,avx512}.cc.
namespace sluice::internal {

template <class S>
struct SoftmaxLoops {
  using V = typename S::V;
  static constexpr int64_t W = S::kWidth;
  /// Sums are kept in float for this many vectors, then added to a double.
  static constexpr int64_t kBlock = 256;
  static constexpr float kLeast = -87.0F;

  /// The last, short vector of a row, filled up with -inf.
  static V load_tail(const float* x, int64_t count) {
    float padded[W];
    for (int64_t i = 0; i < W; ++i) padded[i] = i < count ? x[i] : -INFINITY;
    return S::load(padded);
  }

  /// e^d, 0 below kLeast, NaN for NaN.
  static V exponential(V d) {
    return S::select(S::less(d, S::set(kLeast)), S::set(0.0F), simd::exp<S>(d));
  }

  static float greatest(const float* x, int64_t n) {
    V acc = S::set(-FLT_MAX);  // a row of -inf has no maximum that can be subtracted
    int64_t i = 0;
    for (; i + W <= n; i += W) acc = S::max(S::load(x + i), acc);
    if (i < n) acc = S::max(load_tail(x + i, n - i), acc);
    float lanes[W];
    S::store(lanes, acc);
    float out = lanes[0];
    for (int64_t l = 1; l < W; ++l) out = lanes[l] > out ? lanes[l] : out;
    return out;
  }

  template <bool kWeighted>
  static void fold_as(const float* x, int64_t n, SoftmaxRow& row) {
    const float tile_max = greatest(x, n);
    const float max = tile_max > row.max ? tile_max : row.max;
    const V m = S::set(max);
    double sum = 0, weighted = 0;
    for (int64_t i = 0; i < n;) {
      V s = S::set(0.0F), w = S::set(0.0F);
      const auto take = [&](V value) {
        const V d = S::sub(value, m);
        const V e = exponential(d);
        s = S::add(s, e);
        if constexpr (kWeighted) w = S::fma(e, S::max(S::set(kLeast), d), w);
      };
      const int64_t whole = (n - i) / W;
      const int64_t stop = i + (whole < kBlock ? whole : kBlock) * W;
      for (; i < stop; i += W) take(S::load(x + i));
      if (n - i < W && i < n) {
        take(load_tail(x + i, n - i));
        i = n;
      }
      sum += static_cast<double>(S::sum(s));
      if constexpr (kWeighted) weighted += static_cast<double>(S::sum(w));
    }
    const double step = static_cast<double>(row.max) - static_cast<double>(max);
    const double factor = std::exp(step);
    // A row that was empty before has a step of about -FLT_MAX and nothing to carry.
    if (kWeighted && factor > 0) weighted += factor * (row.weighted + row.sum * step);
    row.sum = row.sum * factor + sum;
    row.weighted = weighted;
    row.max = max;
  }

  static void fold(const float* x, int64_t n, bool weighted, SoftmaxRow& row) {
    if (weighted) {
      fold_as<true>(x, n, row);
    } else {
      fold_as<false>(x, n, row);
    }
  }

  template <bool kEntropy>
  static void gradient_as(float* x, int64_t n, const SoftmaxGradient& row) {
    const V lse = S::set(row.lse), g = S::set(-row.g), q = S::set(-row.q);
    const V shift = S::set(row.entropy);
    const auto one = [&](V value) {
      const V d = S::sub(value, lse);
      const V p = exponential(d);
      if constexpr (!kEntropy) return S::mul(p, g);
      return S::mul(p, S::fma(q, S::add(S::max(S::set(kLeast), d), shift), g));
    };
    int64_t i = 0;
    for (; i + W <= n; i += W) S::store(x + i, one(S::load(x + i)));
    if (i == n) return;
    float padded[W];
    S::store(padded, one(load_tail(x + i, n - i)));
    for (int64_t l = 0; i < n; ++i, ++l) x[i] = padded[l];
  }

  static void gradient(float* x, int64_t n, const SoftmaxGradient& row) {
    if (row.q != 0) {  // NaN too
      gradient_as<true>(x, n, row);
    } else {
      gradient_as<false>(x, n, row);
    }
  }
};

template <class S>
constexpr SoftmaxKernels kSoftmaxTable{&SoftmaxLoops<S>::fold, &SoftmaxLoops<S>::gradient};

}  // namespace sluice::internal
