#pragma once
// The loops of LinearKernels; each kernels_*.cc that includes this is compiled for one instruction
// set. A chain may be cut anywhere and continued from memory without a change of its bits, so the
// blocking here is a matter of speed only.
#include "inference/kernels/linear_kernels.h"
#include "inference/kernels/simd16.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int64_t kPanel = LinearPanel::kWidth;
#if defined(__AVX512F__)
constexpr int kTileRows = 12;  // rows and panels of one register tile
constexpr int kTilePanels = 2;
constexpr int kDirectSums = 8;  // vectors of sums where weights are decoded in registers
#elif defined(__AVX2__)
constexpr int kTileRows = 6;
constexpr int kTilePanels = 1;
constexpr int kDirectSums = 4;
#else
constexpr int kTileRows = 4;
constexpr int kTilePanels = 1;
constexpr int kDirectSums = 4;
#endif
constexpr int kDirectRows = 4;      // up to so many rows weights are not decoded to memory
constexpr int64_t kDepth = 256;     // inputs of one decoded tile: 16 KiB, half of an L1 cache
constexpr int64_t kRowBlock = 192;  // rows whose inputs (192 KiB) stay in the L2 cache

struct Fp32Weights {
  using Number = float;
  static constexpr int64_t kStep = 1;
  template <int I>
  static F16 get(const float* w) {
    return load16(w);
  }
};
struct Bf16Weights {
  using Number = uint16_t;
  static constexpr int64_t kStep = 2;
  template <int I>
  static F16 get(const uint16_t* w) {
    if constexpr (I == 0) return first_of_pairs(w);
    return second_of_pairs(w);
  }
};
struct Int8Weights {
  using Number = int8_t;
  static constexpr int64_t kStep = 4;
  template <int I>
  static F16 get(const int8_t* w) {
    return of_quads<I>(w);
  }
};
// What of_quads() multiplied by comes out with the factor.
constexpr float kQuadFactor = 1.0F / 16777216.0F;

/// Input k of row r is x[k * step + r * stride].
struct Inputs {
  const float* x;
  int64_t step;
  int64_t stride;
};

template <class Weights, int R, int P, int I>
inline void add_products(const Inputs& in, const float* x,
                         const typename Weights::Number* const (&w)[P], int64_t at,
                         F16 (&sum)[R][P]) {
  F16 weights[P];
  for (int p = 0; p < P; ++p) weights[p] = Weights::template get<I>(w[p] + at);
  for (int r = 0; r < R; ++r) {
    const F16 input = all16(x[r * in.stride]);
    for (int p = 0; p < P; ++p) sum[r][p] = fma(input, weights[p], sum[r][p]);
  }
}

/// Continues R x P chains over inputs [0, count) of panels w.
template <class Weights, int R, int P>
inline void chain(const Inputs& in, int64_t count, const typename Weights::Number* const (&w)[P],
                  F16 (&sum)[R][P]) {
  constexpr int64_t kStep = Weights::kStep;
  const float* x = in.x;
  int64_t k = 0;
  for (; k + kStep <= count; k += kStep) {
    const int64_t at = k * kPanel;
    add_products<Weights, R, P, 0>(in, x, w, at, sum);
    if constexpr (kStep >= 2) add_products<Weights, R, P, 1>(in, x + in.step, w, at, sum);
    if constexpr (kStep == 4) {
      add_products<Weights, R, P, 2>(in, x + 2 * in.step, w, at, sum);
      add_products<Weights, R, P, 3>(in, x + 3 * in.step, w, at, sum);
    }
    x += kStep * in.step;
  }
  if constexpr (kStep >= 2) {
    const int64_t at = k * kPanel;
    if (k < count) add_products<Weights, R, P, 0>(in, x, w, at, sum);
    if constexpr (kStep == 4) {
      if (k + 1 < count) add_products<Weights, R, P, 1>(in, x + in.step, w, at, sum);
      if (k + 2 < count) add_products<Weights, R, P, 2>(in, x + 2 * in.step, w, at, sum);
    }
  }
}

/// Where a tile's sums begin and end.
struct Outputs {
  float* y;  ///< of the tile's first row, column 0
  int64_t ldy;
  const float* bias;  ///< may be null
  bool first;         ///< the chain begins: at the bias, not at what is in y
};

inline F16 begun(const Outputs& out, const LinearPanel& panel, int64_t row) {
  const float* from = out.first ? out.bias : out.y + row * out.ldy;
  if (from == nullptr) return zero16();
  return panel.count == kPanel ? load16(from + panel.column)
                               : load_some(from + panel.column, panel.count);
}
inline void finish(const Outputs& out, const LinearPanel& panel, int64_t row, F16 sum) {
  float* to = out.y + row * out.ldy + panel.column;
  if (panel.count == kPanel) {
    store16(to, sum);
  } else {
    store_some(to, sum, panel.count);
  }
}

/// One tile over one stretch of inputs. `factors` (Int8 only) are those of its group, [P][16].
template <class Weights, int R, int P, bool kScaled>
inline void tile(const Inputs& in, int64_t count, const typename Weights::Number* const (&w)[P],
                 const LinearPanel* panels, const float* const (&factors)[P], const Outputs& out) {
  F16 sum[R][P];
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) sum[r][p] = kScaled ? zero16() : begun(out, panels[p], r);
  }
  chain<Weights, R, P>(in, count, w, sum);
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) {
      F16 total = sum[r][p];
      if constexpr (kScaled) {
        total = fma(mul(total, all16(kQuadFactor)), load16(factors[p]), begun(out, panels[p], r));
      }
      finish(out, panels[p], r, total);
    }
  }
}

// ---- Few rows: weights are decoded in registers, each read once ----

template <class Weights, int R, int P>
inline void direct_panels(const LinearWeights& w, int64_t panel, const Inputs& in, Outputs out) {
  using Number = typename Weights::Number;
  const auto* data = static_cast<const Number*>(w.data);
  const Number* at[P];
  const float* factors[P] = {};
  for (int p = 0; p < P; ++p) at[p] = data + (panel + p) * w.panel_stride;
  if constexpr (Weights::kStep < 4) {
    return tile<Weights, R, P, false>(in, w.in, at, w.panels + panel, factors, out);
  } else {
    const int64_t groups = w.groups();
    Inputs part = in;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = g * w.group;
      for (int p = 0; p < P; ++p) {
        at[p] = data + (panel + p) * w.panel_stride + from * kPanel;
        factors[p] = w.factors + ((panel + p) * groups + g) * kPanel;
      }
      part.x = in.x + from * in.step;
      tile<Weights, R, P, true>(part, std::min(w.group, w.in - from), at, w.panels + panel, factors,
                                out);
      out.first = false;
    }
  }
}

template <class Weights, int R, int P>
void direct(const LinearWeights& w, int64_t begin, int64_t end, const Inputs& in,
            const Outputs& out) {
  int64_t p = begin;
  for (; p + P <= end; p += P) direct_panels<Weights, R, P>(w, p, in, out);
  if constexpr (P > 1) {
    if (p < end) direct<Weights, R, P / 2>(w, p, end, in, out);
  }
}

constexpr int panels_for(int rows) {
  int panels = kDirectSums;
  while (panels > 1 && panels * rows > kDirectSums) panels /= 2;
  return panels;
}

template <class Weights>
void direct_rows(const LinearWeights& w, int64_t begin, int64_t end, const Inputs& in, int64_t rows,
                 const Outputs& out) {
  switch (rows) {
    case 1:
      return direct<Weights, 1, panels_for(1)>(w, begin, end, in, out);
    case 2:
      return direct<Weights, 2, panels_for(2)>(w, begin, end, in, out);
    case 3:
      return direct<Weights, 3, panels_for(3)>(w, begin, end, in, out);
    default:
      return direct<Weights, 4, panels_for(4)>(w, begin, end, in, out);
  }
}

// ---- Many rows: weights are decoded once to a tile in cache and multiply every row ----

template <class Weights>
inline void decode(const typename Weights::Number* w, int64_t count, float* out) {
  constexpr int64_t kStep = Weights::kStep;
  for (int64_t k = 0; k < count; k += kStep) {  // zeros lie behind the last input
    store16(out, Weights::template get<0>(w));
    if constexpr (kStep >= 2) store16(out + kPanel, Weights::template get<1>(w));
    if constexpr (kStep == 4) {
      store16(out + 2 * kPanel, Weights::template get<2>(w));
      store16(out + 3 * kPanel, Weights::template get<3>(w));
    }
    w += kStep * kPanel;
    out += kStep * kPanel;
  }
}

/// Inputs [from, from + count) of one panel as floats [count][16], in `tile` unless they are so.
inline const float* decoded(const LinearWeights& w, int64_t panel, int64_t from, int64_t count,
                            float* tile) {
  const int64_t at = panel * w.panel_stride + from * kPanel;
  switch (w.format) {
    case WeightFormat::Fp32:
      return static_cast<const float*>(w.data) + at;
    case WeightFormat::Bf16:
      decode<Bf16Weights>(static_cast<const uint16_t*>(w.data) + at, count, tile);
      return tile;
    case WeightFormat::Int8:
      decode<Int8Weights>(static_cast<const int8_t*>(w.data) + at, count, tile);
      return tile;
    case WeightFormat::Rows:
      break;
  }
  const LinearPanel& own = w.panels[panel];
  const float* rows = static_cast<const float*>(w.data) + own.column * w.panel_stride + from;
  for (int64_t j = 0; j < kPanel; ++j) {
    const float* row = rows + std::min<int64_t>(j, own.count - 1) * w.panel_stride;
    for (int64_t k = 0; k < count; ++k) tile[k * kPanel + j] = row[k];
  }
  return tile;
}

/// Rows [0, rows) of x as tiles of `size` rows, [tile][count][size]; the last may be smaller.
inline void gather(const float* x, int64_t ldx, int64_t rows, int64_t size, int64_t count,
                   float* out) {
  for (int64_t first = 0; first < rows; first += size) {
    const int64_t n = std::min(size, rows - first);
    for (int64_t r = 0; r < n; ++r) {
      const float* from = x + (first + r) * ldx;
      for (int64_t k = 0; k < count; ++k) out[k * n + r] = from[k];
    }
    out += count * n;
  }
}

template <int R, int P, bool kScaled>
inline void register_tile(int64_t rows, const float* x, int64_t count, const float* const (&w)[P],
                          const LinearPanel* panels, const float* const (&factors)[P],
                          const Outputs& out) {
  if (rows == R) {
    return tile<Fp32Weights, R, P, kScaled>({x, R, 1}, count, w, panels, factors, out);
  }
  if constexpr (R > 1) register_tile<R - 1, P, kScaled>(rows, x, count, w, panels, factors, out);
}

template <int P, bool kScaled>
inline void decoded_panels(int64_t rows, int64_t size, const float* x, int64_t count,
                           const float* const (&w)[P], const LinearPanel* panels,
                           const float* const (&factors)[P], Outputs out) {
  for (int64_t first = 0; first < rows; first += size) {
    const int64_t n = std::min(size, rows - first);
    register_tile<kTileRows, P, kScaled>(n, x, count, w, panels, factors, out);
    x += n * count;
    out.y += n * out.ldy;
  }
}

template <bool kScaled>
void blocked(const LinearWeights& w, int64_t begin, int64_t end, const float* x, int64_t ldx,
             int64_t rows, const float* bias, float* y, int64_t ldy, float* scratch) {
  const int64_t depth = kScaled ? w.group : kDepth;
  float* inputs = scratch + kTilePanels * std::min(depth + 3, w.in + 3) * kPanel;
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    const int64_t n = std::min(kRowBlock, rows - block);
    const int64_t tiles = (n + kTileRows - 1) / kTileRows;
    const int64_t size = (n + tiles - 1) / tiles;
    for (int64_t from = 0; from < w.in; from += depth) {
      const int64_t count = std::min(depth, w.in - from);
      const int64_t padded = (count + 3) / 4 * 4;
      gather(x + block * ldx + from, ldx, n, size, count, inputs);
      const Outputs out = {y + block * ldy, ldy, bias, from == 0};
      const auto factors = [&](int64_t p) {
        return kScaled ? w.factors + (p * w.groups() + from / depth) * kPanel : nullptr;
      };
      int64_t p = begin;
      for (; p + kTilePanels <= end; p += kTilePanels) {
        const float* at[kTilePanels];
        const float* scale[kTilePanels];
        for (int i = 0; i < kTilePanels; ++i) {
          at[i] = decoded(w, p + i, from, count, scratch + i * padded * kPanel);
          scale[i] = factors(p + i);
        }
        decoded_panels<kTilePanels, kScaled>(n, size, inputs, count, at, w.panels + p, scale, out);
      }
      for (; p < end; ++p) {
        const float* at[1] = {decoded(w, p, from, count, scratch)};
        const float* scale[1] = {factors(p)};
        decoded_panels<1, kScaled>(n, size, inputs, count, at, w.panels + p, scale, out);
      }
    }
  }
}

int64_t scratch_floats(int64_t in) { return kTilePanels * (in + 3) * kPanel + kRowBlock * in; }

void multiply(const LinearWeights& w, int64_t begin, int64_t end, const float* x, int64_t ldx,
              int64_t rows, const float* bias, float* y, int64_t ldy, float* scratch) {
  if (rows == 0) return;
  if (rows <= kDirectRows && w.format != WeightFormat::Rows) {
    const Inputs in = {x, 1, ldx};
    const Outputs out = {y, ldy, bias, true};
    if (w.format == WeightFormat::Fp32) {
      return direct_rows<Fp32Weights>(w, begin, end, in, rows, out);
    }
    if (w.format == WeightFormat::Bf16) {
      return direct_rows<Bf16Weights>(w, begin, end, in, rows, out);
    }
    return direct_rows<Int8Weights>(w, begin, end, in, rows, out);
  }
  if (w.format == WeightFormat::Int8) {
    return blocked<true>(w, begin, end, x, ldx, rows, bias, y, ldy, scratch);
  }
  blocked<false>(w, begin, end, x, ldx, rows, bias, y, ldy, scratch);
}

constexpr LinearKernels kLinearTable = {scratch_floats, multiply};

}  // namespace
}  // namespace sluice
