#pragma once
// The loops of Bf16Kernels over vectors. Include it from kernels_bf16_*.cc only.
#include "inference/kernels/bf16_kernels.h"
#include "inference/kernels/linear_tile.h"
#include "inference/kernels/rounding.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

#if defined(__AVX512BF16__)
constexpr int kDotRows = 6;  // of a register tile of 32 registers
constexpr int kDotPanels = 4;

/// sum + w0 x0 + w1 x1 for sixteen pairs of weights and the one pair of inputs.
inline F16 add_bf16_products(F16 sum, const uint16_t* w, const uint16_t* x) {
  int32_t pair = 0;
  std::memcpy(&pair, x, sizeof pair);
  // The vectors of bf16 differ by compiler in their type, not in their bits.
  const __m512i weights = _mm512_loadu_si512(w);
  const __m512i inputs = _mm512_set1_epi32(pair);
  return {_mm512_dpbf16_ps(sum.v, (__m512bh)weights, (__m512bh)inputs)};  // NOLINT
}
#else
constexpr int kDotRows = 4;
constexpr int kDotPanels = 2;

inline F16 add_bf16_products(const F16& sum, const uint16_t* w, const uint16_t* x) {
  F16 out;
  for (int i = 0; i < 16; ++i) {
    out.v[i] = sum.v[i] + float_of_bf16(w[2 * i + 1]) * float_of_bf16(x[1]) +
               float_of_bf16(w[2 * i]) * float_of_bf16(x[0]);
  }
  return out;
}
#endif

template <int R, int P>
inline void dot_tile(const LinearWeights& w, int64_t panel, const uint16_t* x, const Outputs& out) {
  const int64_t stride = Bf16Rows::stride(w.in);
  const auto* data = static_cast<const uint16_t*>(w.data) + panel * w.panel_stride;
  F16 sum[R][P];
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) sum[r][p] = begun(out, w.panels[panel + p], r);
  }
  const int64_t pairs = (w.in + 1) / 2;
  for (int64_t k = 0; k < pairs; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int p = 0; p < P; ++p) {
        sum[r][p] = add_bf16_products(sum[r][p], data + p * w.panel_stride + k * 2 * kPanel,
                                      x + r * stride + 2 * k);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) finish(out, w.panels[panel + p], r, sum[r][p]);
  }
}

template <int R, int P>
inline void dot_rows(const LinearWeights& w, int64_t panel, int64_t rows, const uint16_t* x,
                     const Outputs& out) {
  if (rows == R) return dot_tile<R, P>(w, panel, x, out);
  if constexpr (R > 1) dot_rows<R - 1, P>(w, panel, rows, x, out);
}

template <int P>
inline void dot_panels(const LinearWeights& w, int64_t begin, int64_t end, const uint16_t* x,
                       int64_t rows, const Outputs& whole) {
  int64_t p = begin;
  for (; p + P <= end; p += P) {
    Outputs out = whole;
    const uint16_t* from = x;
    for (int64_t first = 0; first < rows; first += kDotRows) {
      const int64_t n = std::min<int64_t>(kDotRows, rows - first);
      dot_rows<kDotRows, P>(w, p, n, from, out);
      from += n * Bf16Rows::stride(w.in);
      out.y += n * out.ldy;
    }
  }
  if constexpr (P > 1) {
    if (p < end) dot_panels<P / 2>(w, p, end, x, rows, whole);
  }
}

void multiply_by_vectors(const LinearWeights& w, int64_t begin, int64_t end, const uint16_t* x,
                         int64_t rows, const float* bias, float* y, int64_t ldy) {
  dot_panels<kDotPanels>(w, begin, end, x, rows, {y, ldy, bias, true});
}

constexpr Bf16Kernels kBf16VectorTable = {multiply_by_vectors};

}  // namespace
}  // namespace sluice
