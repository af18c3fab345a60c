#pragma once
#include "dataflow/base/simd.h"
#include "inference/sampler/sampling_kernels.h"

#include <cmath>

/// The kernels' one source, instantiated by sampling_kernels_{plain,avx2,avx512}.cc.
namespace sluice::internal {

template <class S>
struct SamplingLoops {
  using V = typename S::V;
  static constexpr int64_t W = S::kWidth;
  static constexpr int64_t kBlock = SamplingKernels::kBlock;

  static V load_tail(const float* x, int64_t count) {
    float padded[W];
    for (int64_t i = 0; i < W; ++i) padded[i] = i < count ? x[i] : -INFINITY;
    return S::load(padded);
  }
  static void store_tail(float* out, V value, int64_t count) {
    float padded[W];
    S::store(padded, value);
    for (int64_t i = 0; i < count; ++i) out[i] = padded[i];
  }

  static V exponential(V d) {
    return S::select(S::less(d, S::set(-87.0F)), S::set(0.0F), simd::exp<S>(d));
  }

  template <class F>
  static void each(const float* x, int64_t n, float* out, const F& f) {
    int64_t i = 0;
    for (; i + W <= n; i += W) S::store(out + i, f(S::load(x + i)));
    if (i < n) store_tail(out + i, f(load_tail(x + i, n - i)), n - i);
  }

  static void divide(const float* x, int64_t n, float by, float* out) {
    const V d = S::set(by);
    each(x, n, out, [&](V v) { return S::div(v, d); });
  }

  static void exponentials(const float* x, int64_t n, float max, float* out) {
    const V m = S::set(max);
    each(x, n, out, [&](V v) { return exponential(S::sub(v, m)); });
  }

  /// take(vector, last result) over each block; done(result) is its number.
  template <class Take, class Done>
  static void each_block(const float* x, int64_t n, V start, float* out, const Take& take,
                         const Done& done) {
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = begin + kBlock < n ? begin + kBlock : n;
      V acc = start;
      int64_t i = begin;
      for (; i + W <= end; i += W) acc = take(S::load(x + i), acc);
      if (i < end) acc = take(load_tail(x + i, end - i), acc);
      *out++ = done(acc);
    }
  }

  static float greatest_lane(V a) {
    float lanes[W];
    S::store(lanes, a);
    float out = lanes[0];
    for (int64_t l = 1; l < W; ++l) out = lanes[l] > out ? lanes[l] : out;
    return out;
  }

  static void block_max(const float* x, int64_t n, float* out) {
    each_block(
        x, n, S::set(-INFINITY), out, [](V v, V acc) { return S::max(v, acc); }, greatest_lane);
  }

  static void block_sums(const float* x, int64_t n, float max, float* out) {
    const V m = S::set(max);
    each_block(
        x, n, S::set(0.0F), out, [&](V v, V acc) { return S::add(acc, exponential(S::sub(v, m))); },
        S::sum);
  }

  static int64_t possible(const float* x, int64_t n) {
    const V none = S::set(-INFINITY), one = S::set(1.0F), zero = S::set(0.0F);
    int64_t count = 0;
    // A float counts to 2^24 without loss; a lane sees fewer in a stretch.
    constexpr int64_t kStretch = 1 << 20;
    for (int64_t begin = 0; begin < n; begin += kStretch) {
      const int64_t end = begin + kStretch < n ? begin + kStretch : n;
      V acc = zero;
      int64_t i = begin;
      const auto take = [&](V v) { acc = S::add(acc, S::select(S::less(none, v), one, zero)); };
      for (; i + W <= end; i += W) take(S::load(x + i));
      if (i < end) take(load_tail(x + i, end - i));
      count += static_cast<int64_t>(S::sum(acc));
    }
    return count;
  }
};

template <class S>
constexpr SamplingKernels kSamplingTable{
    &SamplingLoops<S>::divide, &SamplingLoops<S>::block_max, &SamplingLoops<S>::block_sums,
    &SamplingLoops<S>::exponentials, &SamplingLoops<S>::possible};

}  // namespace sluice::internal
