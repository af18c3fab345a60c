#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// What happens to a tile of outputs before it is stored.
enum class Epilogue : uint8_t { None, Tanh, Relu };

/// The register-blocked building blocks of a fully connected network, one table per Isa. All
/// matrices are row-major floats; `ld*` are row strides in floats. `n` is a number of columns and
/// must be a multiple of `width`: callers pad with zeros. Right-hand matrices of forward and
/// backward are packed (see pack). A row of a result depends on its own inputs only, to the last
/// bit: neither the number of rows nor the row's position changes the order of its sums.
struct MlpKernels {
  static constexpr int64_t kDots = 4;

  int64_t width = 1;  ///< floats per vector

  /// y[rows, n] = epilogue(x[rows, k] w[k, n] + bias[n]).
  void (*forward)(const float* x, int64_t ldx, int64_t rows, int64_t k, const float* w,
                  const float* bias, int64_t n, Epilogue epilogue, float* y, int64_t ldy) = nullptr;

  /// y[rows, o] = x[rows, n] w[o, n]^T + bias[o] for 1 <= o <= kDots outputs: each is a dot product
  /// over whole vectors. `w` is row-major, not packed.
  void (*dots)(const float* x, int64_t ldx, int64_t rows, const float* w, const float* bias,
               int64_t outputs, int64_t n, float* y, int64_t ldy) = nullptr;

  /// dx[rows, n] = (dy[rows, k] w[k, n]) * f'(h), f' taken from the activation's result h[rows, n].
  void (*backward)(const float* dy, int64_t lddy, int64_t rows, int64_t k, const float* w,
                   const float* h, int64_t ldh, int64_t n, Epilogue activation, float* dx,
                   int64_t lddx) = nullptr;

  /// c[m, n] += a[rows, m]^T b[rows, n].
  void (*accumulate)(const float* a, int64_t lda, int64_t m, const float* b, int64_t ldb, int64_t n,
                     int64_t rows, float* c, int64_t ldc) = nullptr;

  /// c[n] += sums of the columns of b[rows, n].
  void (*column_sums)(const float* b, int64_t ldb, int64_t n, int64_t rows, float* c) = nullptr;

  /// Packs element (row, column) = src[row * row_stride + column * column_stride] of a [k, columns]
  /// matrix into the panels that forward and backward read; columns up to `n` become zero.
  void (*pack)(const float* src, int64_t row_stride, int64_t column_stride, int64_t k,
               int64_t columns, int64_t n, float* dst) = nullptr;

  /// The smallest multiple of width that holds `columns`.
  [[nodiscard]] int64_t pad(int64_t columns) const noexcept {
    return (columns + width - 1) / width * width;
  }
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const MlpKernels& mlp_kernels(Isa isa) noexcept;

namespace internal {
extern const MlpKernels kMlpPlain;
extern const MlpKernels kMlpAvx2;
extern const MlpKernels kMlpAvx512;
}  // namespace internal
}  // namespace sluice
