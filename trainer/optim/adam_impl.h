#pragma once
#include "dataflow/base/simd.h"
#include "trainer/optim/adam.h"

namespace sluice::internal {

template <class S>
void adam_pass(const AdamPass& a, int64_t n, float* p, const float* g, float* m, float* v) {
  using V = typename S::V;
  const V beta1 = S::set(a.beta1), beta2 = S::set(a.beta2);
  const V rest1 = S::set(a.one_minus_beta1), rest2 = S::set(a.one_minus_beta2);
  const V scale = S::set(a.scale), step = S::set(a.step_size);
  const V root = S::set(a.inverse_root), eps = S::set(a.eps), decay = S::set(a.decay);
  const auto one = [&](float* pp, const float* gg, float* mm, float* vv) {
    const V gradient = S::mul(S::load(gg), scale);
    const V first = S::fma(beta1, S::load(mm), S::mul(rest1, gradient));
    const V second = S::fma(beta2, S::load(vv), S::mul(rest2, S::mul(gradient, gradient)));
    const V denominator = S::fma(S::sqrt(second), root, eps);
    const V update = S::div(S::mul(step, first), denominator);
    S::store(mm, first);
    S::store(vv, second);
    S::store(pp, S::sub(S::mul(S::load(pp), decay), update));
  };
  int64_t i = 0;
  for (; i + S::kWidth <= n; i += S::kWidth) one(p + i, g + i, m + i, v + i);
  if (i == n) return;
  // The tail takes the same path through padded copies, so that it rounds as the rest does.
  float tail[4][S::kWidth] = {};
  const int64_t left = n - i;
  for (int64_t j = 0; j < left; ++j) {
    tail[0][j] = p[i + j];
    tail[1][j] = g[i + j];
    tail[2][j] = m[i + j];
    tail[3][j] = v[i + j];
  }
  one(tail[0], tail[1], tail[2], tail[3]);
  for (int64_t j = 0; j < left; ++j) {
    p[i + j] = tail[0][j];
    m[i + j] = tail[2][j];
    v[i + j] = tail[3][j];
  }
}

}  // namespace sluice::internal
