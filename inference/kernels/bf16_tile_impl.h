#pragma once
// The loops of Bf16Kernels over tiles: 16 rows of 32 inputs times 32 inputs of a panel of 16
// outputs. A panel of bf16 weights is laid out as such tiles, one after the other. `Tiles` has
// registers for 2 x 2 results, two tiles of inputs and two of weights. Include it from
// kernels_bf16_*.cc only.
#include "inference/kernels/bf16_kernels.h"
#include "inference/kernels/linear_tile.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr int64_t kTileRows = Bf16Rows::kRows;
constexpr int64_t kTileInputs = 32;
constexpr int64_t kTileSize = kTileInputs * kPanel;  // numbers of a tile of weights

/// Rows of a result tile to y.
inline void write_tile(const float* tile, const LinearPanel& panel, int64_t rows,
                       const Outputs& out) {
  for (int64_t r = 0; r < rows; ++r) {
    finish(out, panel, r, add(load16(tile + r * kPanel), begun(out, panel, r)));
  }
}

template <class Tiles>
void multiply_by_tiles(const LinearWeights& w, int64_t begin, int64_t end, const uint16_t* x,
                       int64_t rows, const float* bias, float* y, int64_t ldy) {
  Tiles tiles;
  const int64_t stride = Bf16Rows::stride(w.in);
  const int64_t blocks = stride / kTileInputs;
  const int64_t whole = w.in / kTileInputs;  // the last tile of a panel may be cut off
  alignas(64) uint16_t last[2][kTileSize] = {};
  alignas(64) float result[kTileRows * kPanel];
  for (int64_t p = begin; p < end; p += 2) {
    const bool two_panels = p + 1 < end;
    const auto* first = static_cast<const uint16_t*>(w.data) + p * w.panel_stride;
    const uint16_t* panels[2] = {first, two_panels ? first + w.panel_stride : first};
    if (whole < blocks) {
      const auto cut = static_cast<size_t>(w.panel_stride - whole * kTileSize);
      for (int i = 0; i < 2; ++i) {
        std::memcpy(last[i], panels[i] + whole * kTileSize, cut * sizeof(uint16_t));
      }
    }
    for (int64_t r = 0; r < rows; r += 2 * kTileRows) {
      const bool two_rows = rows - r > kTileRows;
      const uint16_t* in = x + r * stride;
      tiles.clear();
      for (int64_t b = 0; b < blocks; ++b) {
        tiles.template load_inputs<0>(in + b * kTileInputs, stride);
        tiles.template load_weights<0>(b < whole ? panels[0] + b * kTileSize : last[0]);
        tiles.template multiply<0, 0>();
        if (two_panels) {
          tiles.template load_weights<1>(b < whole ? panels[1] + b * kTileSize : last[1]);
          tiles.template multiply<0, 1>();
        }
        if (!two_rows) continue;
        tiles.template load_inputs<1>(in + kTileRows * stride + b * kTileInputs, stride);
        tiles.template multiply<1, 0>();
        if (two_panels) tiles.template multiply<1, 1>();
      }
      const int64_t n = std::min(kTileRows, rows - r);
      Outputs out = {y + r * ldy, ldy, bias, true};
      tiles.template store<0, 0>(result);
      write_tile(result, w.panels[p], n, out);
      if (two_panels) {
        tiles.template store<0, 1>(result);
        write_tile(result, w.panels[p + 1], n, out);
      }
      if (!two_rows) continue;
      const int64_t rest = std::min(kTileRows, rows - r - kTileRows);
      out.y += kTileRows * ldy;
      tiles.template store<1, 0>(result);
      write_tile(result, w.panels[p], rest, out);
      if (two_panels) {
        tiles.template store<1, 1>(result);
        write_tile(result, w.panels[p + 1], rest, out);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
