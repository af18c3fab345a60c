#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// The loops of a layer that move memory rather than multiply, one table per Isa. All matrices are
/// row-major contiguous floats. A row of a result depends on its own inputs only. Weight gradients
/// are added into partial sums of kBlock rows each, so that they do not depend on the threads.
struct RowKernels {
  static constexpr int64_t kBlock = 64;

  /// sum = x + y (y null: sum is not written and stands for x); out = sum * r * (w + offset) with
  /// r = 1 / sqrt(mean(sum^2) + eps), kept per row.
  void (*rms_norm)(const float* x, const float* y, const float* w, float offset, double eps,
                   int64_t rows, int64_t n, float* sum, float* out, float* r) = nullptr;
  /// dx = gradient through the norm of dout, plus dsum (may be null); dw[n] += its weight gradient.
  void (*rms_norm_backward)(const float* dout, const float* dsum, const float* sum, const float* w,
                            float offset, const float* r, int64_t rows, int64_t n, float* dx,
                            float* dw) = nullptr;
  /// [rows, 2 n] -> silu(first n) * last n.
  void (*swiglu)(const float* gate_up, int64_t rows, int64_t n, float* out) = nullptr;
  void (*swiglu_backward)(const float* dout, const float* gate_up, int64_t rows, int64_t n,
                          float* dgate_up) = nullptr;
  /// x [rows, heads, dim] with row stride ldx -> out (row stride ldo), each head's first 2 * half
  /// numbers rotated by cos and sin [rows, half], by -sin if `back`; half 0 copies.
  void (*rotate)(const float* x, int64_t ldx, const float* cos, const float* sin, bool back,
                 int64_t rows, int64_t heads, int64_t dim, int64_t half, float* out,
                 int64_t ldo) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const RowKernels& row_kernels(Isa isa) noexcept;

namespace internal {
extern const RowKernels kRowPlain;
extern const RowKernels kRowAvx2;
extern const RowKernels kRowAvx512;
}  // namespace internal
}  // namespace sluice
