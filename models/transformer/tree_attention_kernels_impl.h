#pragma once
#include "dataflow/base/simd.h"
#include "models/transformer/tree_attention_kernels.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

/// Far below every score, and finite, so that differences of two are not NaN.
constexpr float kMasked = -1e30F;

/// Rows [i, i + R) and vectors [j, j + W) of a product, held in registers.
template <class S, int R, int W>
void product_tile(const ThinProduct& p, int64_t i, int64_t j) {
  using V = typename S::V;
  V sums[R][W];
  for (int r = 0; r < R; ++r) {
    for (int w = 0; w < W; ++w) sums[r][w] = S::set(0);
  }
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_col, b += p.ldb) {
    V right[W];
    for (int w = 0; w < W; ++w) right[w] = S::load(b + w * S::kWidth);
    for (int r = 0; r < R; ++r) {
      const V left = S::set(a[r * p.a_row]);
      for (int w = 0; w < W; ++w) sums[r][w] = S::fma(left, right[w], sums[r][w]);
    }
  }
  for (int r = 0; r < R; ++r) {
    float* c = p.c + (i + r) * p.ldc + j;
    for (int w = 0; w < W; ++w) {
      float* at = c + w * S::kWidth;
      S::store(at, p.add ? S::add(S::load(at), sums[r][w]) : sums[r][w]);
    }
  }
}

template <class S, int W>
void product_columns(const ThinProduct& p, int64_t j) {
  constexpr int kRows = 6;
  int64_t i = 0;
  for (; i + kRows <= p.m; i += kRows) product_tile<S, kRows, W>(p, i, j);
  switch (p.m - i) {
    case 5:
      return product_tile<S, 5, W>(p, i, j);
    case 4:
      return product_tile<S, 4, W>(p, i, j);
    case 3:
      return product_tile<S, 3, W>(p, i, j);
    case 2:
      return product_tile<S, 2, W>(p, i, j);
    case 1:
      return product_tile<S, 1, W>(p, i, j);
    default:
      return;
  }
}

template <class S>
void thin_product(const ThinProduct& p) {
  int64_t j = 0;
  for (; j + 2 * S::kWidth <= p.n; j += 2 * S::kWidth) product_columns<S, 2>(p, j);
  if (j < p.n) product_columns<S, 1>(p, j);
}

inline void fill_outside(float* x, const ScoreRow& row, float value) {
  std::fill(x, x + row.begin, value);
  std::fill(x + row.end, x + row.padded, value);
}

template <class S>
float tree_softmax(float* x, const ScoreRow& row) {
  using V = typename S::V;
  fill_outside(x, row, kMasked);
  float largest = kMasked;
  for (int64_t i = row.begin; i < row.end; ++i) {
    // Written so that a NaN stays.
    if (!(x[i] * row.scale <= largest)) largest = x[i] * row.scale;
  }
  const V scale = S::set(row.scale), max = S::set(largest);
  V sums = S::set(0);
  for (int64_t i = 0; i < row.padded; i += S::kWidth) {
    const V e = simd::exp<S>(S::sub(S::mul(S::load(x + i), scale), max));
    S::store(x + i, e);
    sums = S::add(sums, e);
  }
  const float sum = S::sum(sums);
  const V inverse = S::set(1 / sum);
  for (int64_t i = 0; i < row.padded; i += S::kWidth) {
    S::store(x + i, S::mul(S::load(x + i), inverse));
  }
  fill_outside(x, row, 0);
  return largest + std::log(sum);
}

template <class S>
void tree_gradient(float* x, float* y, float lse, const ScoreRow& row) {
  using V = typename S::V;
  fill_outside(x, row, kMasked);
  fill_outside(y, row, 0);
  const V scale = S::set(row.scale), shift = S::set(lse);
  V dots = S::set(0);
  for (int64_t i = 0; i < row.padded; i += S::kWidth) {
    const V p = simd::exp<S>(S::sub(S::mul(S::load(x + i), scale), shift));
    S::store(x + i, p);
    dots = S::fma(p, S::load(y + i), dots);
  }
  const V dot = S::set(S::sum(dots));
  for (int64_t i = 0; i < row.padded; i += S::kWidth) {
    const V p = S::load(x + i);
    S::store(y + i, S::mul(S::mul(p, scale), S::sub(S::load(y + i), dot)));
  }
  fill_outside(x, row, 0);
  fill_outside(y, row, 0);
}

inline void tree_transpose(const float* x, int64_t ldx, int64_t rows, int64_t n, float* out,
                           int64_t ldo) {
  constexpr int64_t kTile = 8;
  for (int64_t i = 0; i < rows; i += kTile) {
    const int64_t end = std::min(rows, i + kTile);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t r = i; r < end; ++r) out[j * ldo + r] = x[r * ldx + j];
    }
  }
}

template <class S>
constexpr TreeAttentionKernels tree_attention_table() {
  return {S::kWidth, thin_product<S>, tree_softmax<S>, tree_gradient<S>, tree_transpose};
}

}  // namespace
}  // namespace sluice
