#pragma once
// The loops of LinearKernels for Int8; each kernels_*.cc that includes this is compiled for one
// instruction set.
#include "inference/kernels/linear_tile.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

#if defined(__AVX512F__)
constexpr int kRoundedTileRows = 12;
constexpr int kRoundedTilePanels = 2;
#else
constexpr int kRoundedTileRows = 4;
constexpr int kRoundedTilePanels = 1;
#endif
constexpr int64_t kRoundedRowBlock = 192;  // rows whose inputs of a group stay in an L2 cache

/// One group of a row. Writes whole vectors: what lies behind the group is written later, or pads.
inline void round_group(const float* x, int64_t count, int16_t* out, float* factor) {
  const auto at = [&](int64_t k) {
    return k + 16 <= count ? load16(x + k) : load_some(x + k, count - k);
  };
  F16 most = zero16();
  F16 poison = zero16();  // not a number as soon as an input is not finite
  for (int64_t k = 0; k < count; k += 16) {
    const F16 v = at(k);
    most = max(most, max(v, sub(zero16(), v)));
    poison = fma(v, zero16(), poison);
  }
  const float largest = max16(most);
  const bool finite = sum16(poison) == 0;
  // Below this the inverse would overflow; such a group is zero for all that comes of it.
  constexpr float kLeast = 1e-30F;
  const bool some = finite && largest > kLeast;
  *factor = some ? largest / 32767 : finite ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  const F16 inverse = all16(some ? 32767 / largest : 0.0F);
  for (int64_t k = 0; k < count; k += 16) {
    store_rounded(out + k, some ? mul(at(k), inverse) : zero16());
  }
}

inline void round_rows(const LinearWeights& w, const float* x, int64_t ldx, int64_t rows,
                       int16_t* out, float* factors) {
  const int64_t groups = w.groups();
  const int64_t stride = RoundedRows::stride(w.in);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = g * w.group;
      round_group(x + r * ldx + from, std::min(w.group, w.in - from), out + r * stride + from,
                  factors + r * groups + g);
    }
  }
}

/// A stretch of rounded rows: input k of row r is x[r * stride + k], its factor
/// factors[r * groups].
struct RoundedInputs {
  const int16_t* x;
  int64_t stride;
  const float* factors;
  int64_t groups;
};

/// One tile over one group of `count` inputs; `factors` are the weights', [P][16].
template <int R, int P>
inline void rounded_tile(const RoundedInputs& in, int64_t count, const int8_t* const (&w)[P],
                         const LinearPanel* panels, const float* const (&factors)[P],
                         const Outputs& out) {
  I16 sum[R][P];
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) sum[r][p] = int_zero16();
  }
  const int64_t pairs = (count + 1) / 2;
  for (int64_t k = 0; k < pairs; ++k) {
    Pairs16 weights[P];
    for (int p = 0; p < P; ++p) weights[p] = load_pairs(w[p] + k * 2 * kPanel);
    for (int r = 0; r < R; ++r) {
      const Pairs16 input = all_pairs(in.x + r * in.stride + 2 * k);
      for (int p = 0; p < P; ++p) sum[r][p] = add_products(sum[r][p], weights[p], input);
    }
  }
  for (int r = 0; r < R; ++r) {
    const F16 factor = all16(in.factors[r * in.groups]);
    for (int p = 0; p < P; ++p) {
      finish(out, panels[p], r,
             fma(floats_of(sum[r][p]), mul(load16(factors[p]), factor), begun(out, panels[p], r)));
    }
  }
}

/// P panels times R rows, group after group.
template <int R, int P>
inline void rounded_panels(const LinearWeights& w, int64_t panel, RoundedInputs in, Outputs out) {
  const auto* data = static_cast<const int8_t*>(w.data);
  const int64_t groups = w.groups();
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t from = g * w.group;
    const int8_t* at[P];
    const float* factors[P];
    for (int p = 0; p < P; ++p) {
      at[p] = data + (panel + p) * w.panel_stride + from * kPanel;
      factors[p] = w.factors + ((panel + p) * groups + g) * kPanel;
    }
    rounded_tile<R, P>(in, std::min(w.group, w.in - from), at, w.panels + panel, factors, out);
    in.x += w.group;
    ++in.factors;
    out.first = false;
  }
}

template <int R, int P>
void rounded_few(const LinearWeights& w, int64_t begin, int64_t end, const RoundedInputs& in,
                 const Outputs& out) {
  int64_t p = begin;
  for (; p + P <= end; p += P) rounded_panels<R, P>(w, p, in, out);
  if constexpr (P > 1) {
    if (p < end) rounded_few<R, P / 2>(w, p, end, in, out);
  }
}

template <int R, int P>
inline void rounded_rows_of(int64_t rows, const RoundedInputs& in, int64_t count,
                            const int8_t* const (&w)[P], const LinearPanel* panels,
                            const float* const (&factors)[P], const Outputs& out) {
  if (rows == R) return rounded_tile<R, P>(in, count, w, panels, factors, out);
  if constexpr (R > 1) rounded_rows_of<R - 1, P>(rows, in, count, w, panels, factors, out);
}

/// P panels times all rows of a block over group g, `size` rows at a time.
template <int P>
inline void rounded_block(const LinearWeights& w, int64_t panel, int64_t g, int64_t rows,
                          int64_t size, RoundedInputs in, Outputs out) {
  const int64_t from = g * w.group;
  const int8_t* at[P];
  const float* factors[P];
  for (int p = 0; p < P; ++p) {
    at[p] = static_cast<const int8_t*>(w.data) + (panel + p) * w.panel_stride + from * kPanel;
    factors[p] = w.factors + ((panel + p) * w.groups() + g) * kPanel;
  }
  for (int64_t first = 0; first < rows; first += size) {
    const int64_t n = std::min(size, rows - first);
    rounded_rows_of<kRoundedTileRows, P>(n, in, std::min(w.group, w.in - from), at,
                                         w.panels + panel, factors, out);
    in.x += n * in.stride;
    in.factors += n * in.groups;
    out.y += n * out.ldy;
  }
}

void rounded_many(const LinearWeights& w, int64_t begin, int64_t end, const RoundedInputs& all,
                  int64_t rows, const Outputs& whole) {
  constexpr int kPanels = kRoundedTilePanels;
  for (int64_t block = 0; block < rows; block += kRoundedRowBlock) {
    const int64_t n = std::min(kRoundedRowBlock, rows - block);
    const int64_t tiles = (n + kRoundedTileRows - 1) / kRoundedTileRows;
    const int64_t size = (n + tiles - 1) / tiles;
    RoundedInputs in = all;
    in.x += block * in.stride;
    in.factors += block * in.groups;
    Outputs out = whole;
    out.y += block * out.ldy;
    for (int64_t g = 0; g < w.groups(); ++g) {
      int64_t p = begin;
      for (; p + kPanels <= end; p += kPanels) {
        rounded_block<kPanels>(w, p, g, n, size, in, out);
      }
      for (; p < end; ++p) rounded_block<1>(w, p, g, n, size, in, out);
      in.x += w.group;
      ++in.factors;
      out.first = false;
    }
  }
}

inline void multiply_rounded(const LinearWeights& w, int64_t begin, int64_t end,
                             const RoundedRows& x, int64_t rows, const float* bias, float* y,
                             int64_t ldy) {
  const RoundedInputs in = {x.x, RoundedRows::stride(w.in), x.factors, w.groups()};
  const Outputs out = {y, ldy, bias, true};
  switch (rows) {
    case 0:
      return;
    case 1:
      return rounded_few<1, 4>(w, begin, end, in, out);
    case 2:
      return rounded_few<2, 2>(w, begin, end, in, out);
    default:
      return rounded_many(w, begin, end, in, rows, out);
  }
}

}  // namespace
}  // namespace sluice
