#pragma once
// What the tiles of both kinds of products have in common. Include it from *_impl.h only.
#include "inference/kernels/linear_kernels.h"
#include "inference/kernels/simd16.h"

namespace sluice {
namespace {

constexpr int64_t kPanel = LinearPanel::kWidth;

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

}  // namespace
}  // namespace sluice
