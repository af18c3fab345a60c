#pragma once
#include "algorithms/ppo.h"
#include "dataflow/base/simd.h"

/// The analytic PPO gradient over kWidth rows at a time, one instantiation per instruction set.
namespace sluice::internal {

template <class S>
struct PpoTiles {
  using V = typename S::V;
  static constexpr int64_t W = S::kWidth;

  /// Row r, r+1, .. of a column; lanes beyond `count` repeat the last row, so that they stay
  /// finite.
  static V column(const float* p, int64_t stride, int64_t count) {
    if (count == W) return stride == 1 ? S::load(p) : S::load(p, stride);
    float lanes[W];
    for (int64_t i = 0; i < W; ++i) lanes[i] = p[(i < count ? i : count - 1) * stride];
    return S::load(lanes);
  }
  static void put(float* p, int64_t stride, int64_t count, V a) {
    float lanes[W];
    S::store(lanes, a);
    for (int64_t i = 0; i < count; ++i) p[i * stride] = lanes[i];
  }
  struct Totals {
    V policy = S::set(0), value = S::set(0), entropy = S::set(0), kl = S::set(0),
      clipped = S::set(0);
  };

  /// d(loss)/d(log_prob), times the weight; notes the policy's statistics. `live` is 1 in real
  /// lanes.
  static V policy(const PpoPass& c, V log_prob, V old_log_prob, V advantage, V live, Totals& t) {
    const V one = S::set(1.0F);
    const V low = S::set(c.low), high = S::set(c.high);
    const V log_ratio = S::sub(log_prob, old_log_prob);
    const V ratio = simd::exp<S>(log_ratio);
    const V free = S::mul(ratio, advantage);
    const V bounded = S::mul(S::min(S::max(ratio, low), high), advantage);
    t.policy = S::fnma(S::min(free, bounded), live, t.policy);
    t.kl = S::fma(S::sub(S::sub(ratio, one), log_ratio), live, t.kl);
    t.clipped = S::add(t.clipped, S::select(S::less(high, ratio), live, S::set(0)));
    t.clipped = S::add(t.clipped, S::select(S::less(ratio, low), live, S::set(0)));
    const V slope = S::mul(free, S::set(-c.weight));
    return S::select(S::less(bounded, free), S::set(0), slope);
  }

  static V critic(const PpoPass& c, V v, V old, V target, V live, Totals& t) {
    V error = S::sub(v, target);
    V square = S::mul(error, error);
    if (c.value_clip > 0) {
      const V limit = S::set(c.value_clip);
      const V moved = S::sub(v, old);
      const V kept = S::max(S::sub(S::set(0), limit), S::min(moved, limit));
      const V clipped = S::sub(S::add(old, kept), target);
      const V clipped_square = S::mul(clipped, clipped);
      const V slope = S::select(S::equal(kept, moved), clipped, S::set(0));
      const auto worse = S::less(square, clipped_square);
      error = S::select(worse, slope, error);
      square = S::select(worse, clipped_square, square);
    }
    t.value = S::fma(S::mul(square, S::set(0.5F)), live, t.value);
    return S::mul(error, S::set(c.value));
  }

  static void categorical(const PpoPass& c, const PpoRows& in, const PpoGrads& out, int64_t r,
                          int64_t count, V advantage, V live, Totals& t) {
    const float* z = in.head + r * in.head_stride;
    const V action = column(in.action + r, 1, count);
    V top = column(z, in.head_stride, count);
    for (int64_t a = 1; a < in.size; ++a) top = S::max(top, column(z + a, in.head_stride, count));
    V total = S::set(0), weighted = S::set(0), chosen = S::set(0);
    for (int64_t a = 0; a < in.size; ++a) {
      const V x = S::sub(column(z + a, in.head_stride, count), top);
      const V e = simd::exp<S>(x);
      total = S::add(total, e);
      weighted = S::fma(e, x, weighted);
      chosen = S::select(S::equal(action, S::set(static_cast<float>(a))), x, chosen);
    }
    const V log_total = simd::log<S>(total);
    const V inverse = S::div(S::set(1.0F), total);
    const V entropy = S::fnma(weighted, inverse, log_total);
    t.entropy = S::fma(entropy, live, t.entropy);
    const V g = policy(c, S::sub(chosen, log_total), column(in.old_log_prob + r, 1, count),
                       advantage, live, t);
    for (int64_t a = 0; a < in.size; ++a) {
      const V x = S::sub(column(z + a, in.head_stride, count), top);
      const V p = S::mul(simd::exp<S>(x), inverse);
      const V hit = S::select(S::equal(action, S::set(static_cast<float>(a))), g, S::set(0));
      V d = S::fnma(g, p, hit);
      if (c.entropy > 0) {
        const V pull = S::mul(p, S::add(S::sub(x, log_total), entropy));
        d = S::fma(pull, S::set(c.entropy), d);
      }
      put(out.d_head + r * out.head_stride + a, out.head_stride, count, d);
    }
  }

  static void gaussian(const PpoPass& c, const PpoRows& in, const PpoGrads& out, int64_t r,
                       int64_t count, V advantage, V live, Totals& t) {
    const float* mean = in.head + r * in.head_stride;
    const float* action = in.action + r * in.size;
    V log_prob = S::set(0), entropy = S::set(0);
    for (int64_t j = 0; j < in.size; ++j) {
      const V log_std = S::set(in.log_std[j]);
      const V inverse = simd::exp<S>(S::sub(S::set(0), log_std));
      const V z = S::mul(
          S::sub(column(action + j, in.size, count), column(mean + j, in.head_stride, count)),
          inverse);
      const V half_log = S::add(log_std, S::set(0.91893853320467274F));  // + log(2 pi) / 2
      log_prob = S::sub(S::fnma(S::mul(z, z), S::set(0.5F), log_prob), half_log);
      entropy = S::add(entropy, S::add(half_log, S::set(0.5F)));
    }
    t.entropy = S::fma(entropy, live, t.entropy);
    const V g = policy(c, log_prob, column(in.old_log_prob + r, 1, count), advantage, live, t);
    for (int64_t j = 0; j < in.size; ++j) {
      const V inverse = simd::exp<S>(S::sub(S::set(0), S::set(in.log_std[j])));
      const V z = S::mul(
          S::sub(column(action + j, in.size, count), column(mean + j, in.head_stride, count)),
          inverse);
      put(out.d_head + r * out.head_stride + j, out.head_stride, count,
          S::mul(g, S::mul(z, inverse)));
      const V d = S::sub(S::mul(g, S::sub(S::mul(z, z), S::set(1.0F))), S::set(c.entropy));
      out.d_log_std[j] += S::sum(S::mul(d, live));
    }
  }

  static PpoSums run(const PpoPass& c, const PpoRows& in, const PpoGrads& out) {
    Totals t;
    const V mean = S::set(in.moments.mean), scale = S::set(in.moments.inverse_std);
    for (int64_t r = 0; r < in.rows; r += W) {
      const int64_t count = in.rows - r < W ? in.rows - r : W;
      float lanes[W];
      for (int64_t i = 0; i < W; ++i) lanes[i] = i < count ? 1.0F : 0.0F;
      const V live = S::load(lanes);
      const V advantage = S::mul(S::sub(column(in.advantage + r, 1, count), mean), scale);
      if (in.log_std == nullptr) {
        categorical(c, in, out, r, count, advantage, live, t);
      } else {
        gaussian(c, in, out, r, count, advantage, live, t);
      }
      const V dv =
          critic(c, column(in.value + r * in.value_stride, in.value_stride, count),
                 column(in.old_value + r, 1, count), column(in.returns + r, 1, count), live, t);
      put(out.d_value + r * out.value_stride, out.value_stride, count, dv);
    }
    PpoSums s;
    s.policy = static_cast<double>(S::sum(t.policy));
    s.value = static_cast<double>(S::sum(t.value));
    s.entropy = static_cast<double>(S::sum(t.entropy));
    s.kl = static_cast<double>(S::sum(t.kl));
    s.clipped = static_cast<double>(S::sum(t.clipped));
    return s;
  }
};

}  // namespace sluice::internal
