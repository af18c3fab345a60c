#pragma once
// The loops of LinearKernels; each kernels_*.cc that includes this is compiled for one instruction
// set. A chain may be cut anywhere and continued from memory without a change of its bits, so the
// blocking here is a matter of speed only.
#include "inference/kernels/linear_kernels.h"
#include "inference/kernels/linear_tile.h"
#include "inference/kernels/rounded_kernels_impl.h"
#include "inference/kernels/simd16.h"

#include <algorithm>
#include <type_traits>

namespace sluice {
namespace {

#if defined(__AVX512F__)
constexpr int kWideRows = 12;  // rows of a register tile where 32 registers hold it
constexpr int kNarrowRows = 12;
constexpr int kPanelsAtOnce = 2;
constexpr int kDirectSums = 8;  // vectors of sums with few rows
#elif defined(__AVX2__)
constexpr int kWideRows = 6;    // of a register tile of 16 registers
constexpr int kNarrowRows = 4;  // where some hold weights before and after decoding
constexpr int kPanelsAtOnce = 1;
constexpr int kDirectSums = 4;
#else
constexpr int kWideRows = 4;
constexpr int kNarrowRows = 4;
constexpr int kPanelsAtOnce = 1;
constexpr int kDirectSums = 4;
#endif
constexpr int kDirectRows = 4;      // up to so many, one pass over each panel serves all rows
constexpr int64_t kDepth = 256;     // inputs of a block: 16 KiB of a panel, half of an L1 cache
constexpr int64_t kRowBlock = 192;  // rows of a block: their inputs, 192 KiB, fit an L2 cache

// How each format is read: kStep inputs at a time, number I of them by get<I>(). Decoding in
// registers hides behind the multiplications, for any number of rows.
struct Fp32Weights {
  using Number = float;
  static constexpr int64_t kStep = 1;
  static constexpr int kTileRows = kWideRows;
  static constexpr int kTilePanels = kPanelsAtOnce;
  template <int I>
  static F16 get(const float* w) {
    return load16(w);
  }
};
struct Bf16Weights {
  using Number = uint16_t;
  static constexpr int64_t kStep = 2;
  static constexpr int kTileRows = kNarrowRows;
  static constexpr int kTilePanels = kPanelsAtOnce;
  template <int I>
  static F16 get(const uint16_t* w) {
    if constexpr (I == 0) return first_of_pairs(w);
    return second_of_pairs(w);
  }
};

/// Input k of row r is x[k + r * stride].
struct Inputs {
  const float* x;
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
    if constexpr (kStep == 2) add_products<Weights, R, P, 1>(in, x + 1, w, at, sum);
    x += kStep;
  }
  if constexpr (kStep == 2) {
    if (k < count) add_products<Weights, R, P, 0>(in, x, w, k * kPanel, sum);
  }
}

/// One tile over one stretch of inputs.
template <class Weights, int R, int P>
inline void tile(const Inputs& in, int64_t count, const typename Weights::Number* const (&w)[P],
                 const LinearPanel* panels, const Outputs& out) {
  F16 sum[R][P];
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) sum[r][p] = begun(out, panels[p], r);
  }
  chain<Weights, R, P>(in, count, w, sum);
  for (int r = 0; r < R; ++r) {
    for (int p = 0; p < P; ++p) finish(out, panels[p], r, sum[r][p]);
  }
}

// ---- Few rows: weights are decoded in registers, each read once ----

template <class Weights, int R, int P>
inline void direct_panels(const LinearWeights& w, int64_t panel, const Inputs& in,
                          const Outputs& out) {
  using Number = typename Weights::Number;
  const auto* data = static_cast<const Number*>(w.data);
  const Number* at[P];
  for (int p = 0; p < P; ++p) at[p] = data + (panel + p) * w.panel_stride;
  tile<Weights, R, P>(in, w.in, at, w.panels + panel, out);
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

// ---- Many rows: a block of inputs stays in cache while all panels multiply it ----

/// Inputs [from, from + count) of a panel of rows, turned to [count][16].
inline void turn(const LinearWeights& w, int64_t panel, int64_t from, int64_t count, float* out) {
  const LinearPanel& own = w.panels[panel];
  const float* first = static_cast<const float*>(w.data) + own.column * w.panel_stride + from;
  const float* rows[kPanel];
  for (int64_t j = 0; j < kPanel; ++j) {
    rows[j] = first + std::min<int64_t>(j, own.count - 1) * w.panel_stride;
  }
  int64_t k = 0;
  for (; k + 8 <= count; k += 8) transpose8(rows, k, out + k * kPanel);
  for (; k < count; ++k) {
    for (int64_t j = 0; j < kPanel; ++j) out[k * kPanel + j] = rows[j][k];
  }
}

template <class Weights, int R, int P>
inline void register_tile(int64_t rows, const Inputs& in, int64_t count,
                          const typename Weights::Number* const (&w)[P], const LinearPanel* panels,
                          const Outputs& out) {
  if (rows == R) return tile<Weights, R, P>(in, count, w, panels, out);
  if constexpr (R > 1) register_tile<Weights, R - 1, P>(rows, in, count, w, panels, out);
}

/// P panels times all rows of a block, `size` rows at a time.
template <class Weights, int P>
inline void block_panels(const LinearWeights& w, int64_t panel, int64_t from, int64_t count,
                         int64_t rows, int64_t size, Inputs in, Outputs out, float* scratch) {
  using Number = typename Weights::Number;
  const Number* at[P] = {};
  for (int p = 0; p < P; ++p) {
    if (w.format == WeightFormat::Rows) {
      turn(w, panel + p, from, count, scratch + p * kDepth * kPanel);
    } else {
      at[p] = static_cast<const Number*>(w.data) + (panel + p) * w.panel_stride + from * kPanel;
    }
    if constexpr (std::is_same_v<Number, float>) {
      if (w.format == WeightFormat::Rows) at[p] = scratch + p * kDepth * kPanel;
    }
  }
  for (int64_t first = 0; first < rows; first += size) {
    const int64_t n = std::min(size, rows - first);
    register_tile<Weights, Weights::kTileRows, P>(n, in, count, at, w.panels + panel, out);
    in.x += n * in.stride;
    out.y += n * out.ldy;
  }
}

template <class Weights>
void blocked(const LinearWeights& w, int64_t begin, int64_t end, const float* x, int64_t ldx,
             int64_t rows, const float* bias, float* y, int64_t ldy, float* scratch) {
  constexpr int kPanels = Weights::kTilePanels;
  for (int64_t block = 0; block < rows; block += kRowBlock) {
    const int64_t n = std::min(kRowBlock, rows - block);
    const int64_t tiles = (n + Weights::kTileRows - 1) / Weights::kTileRows;
    const int64_t size = (n + tiles - 1) / tiles;
    for (int64_t from = 0; from < w.in; from += kDepth) {
      const int64_t count = std::min(kDepth, w.in - from);
      const Inputs in = {x + block * ldx + from, ldx};
      const Outputs out = {y + block * ldy, ldy, bias, from == 0};
      int64_t p = begin;
      for (; p + kPanels <= end; p += kPanels) {
        block_panels<Weights, kPanels>(w, p, from, count, n, size, in, out, scratch);
      }
      for (; p < end; ++p) block_panels<Weights, 1>(w, p, from, count, n, size, in, out, scratch);
    }
  }
}

int64_t scratch_floats() { return Fp32Weights::kTilePanels * kDepth * kPanel; }

void multiply(const LinearWeights& w, int64_t begin, int64_t end, const float* x, int64_t ldx,
              int64_t rows, const float* bias, float* y, int64_t ldy, float* scratch) {
  if (rows == 0) return;
  const bool few = rows <= kDirectRows;
  const Inputs in = {x, ldx};
  const Outputs out = {y, ldy, bias, true};
  switch (w.format) {
    case WeightFormat::Fp32:
      if (few) return direct_rows<Fp32Weights>(w, begin, end, in, rows, out);
      return blocked<Fp32Weights>(w, begin, end, x, ldx, rows, bias, y, ldy, scratch);
    case WeightFormat::Bf16:
      if (few) return direct_rows<Bf16Weights>(w, begin, end, in, rows, out);
      return blocked<Bf16Weights>(w, begin, end, x, ldx, rows, bias, y, ldy, scratch);
    case WeightFormat::Int8:  // multiply_rounded()
      return;
    case WeightFormat::Rows:
      return blocked<Fp32Weights>(w, begin, end, x, ldx, rows, bias, y, ldy, scratch);
  }
}

constexpr LinearKernels kLinearTable = {scratch_floats, multiply, round_rows, multiply_rounded};

}  // namespace
}  // namespace sluice
