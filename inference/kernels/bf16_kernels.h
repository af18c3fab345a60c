#pragma once
#include "inference/kernels/bf16_unit.h"
#include "inference/kernels/linear_kernels.h"

#include <cstdint>

namespace sluice {

/// Inputs rounded to bf16, as the units below read them: rows of `stride` numbers, zeros behind the
/// last input, memory for a multiple of kRows rows.
struct Bf16Rows {
  static constexpr int64_t kRows = 16;
  static constexpr int64_t stride(int64_t in) noexcept { return (in + 31) / 32 * 32; }
  static constexpr int64_t size(int64_t rows, int64_t in) noexcept {
    return (rows + kRows - 1) / kRows * kRows * stride(in);
  }
};

/// Rounds rows of x to nearest even.
void round_to_bf16(const float* x, int64_t ldx, int64_t rows, int64_t in, uint16_t* out);

/// Products of bf16 weights with inputs rounded to bf16, summed in fp32 by pairs of inputs. An
/// output depends on its own row alone, bit for bit; units differ from each other by rounding, and
/// from LinearKernels by that of the inputs.
struct Bf16Kernels {
  /// y[r][column] of panels [begin, end); see LinearKernels::multiply. `x` as in Bf16Rows.
  void (*multiply)(const LinearWeights& w, int64_t begin, int64_t end, const uint16_t* x,
                   int64_t rows, const float* bias, float* y, int64_t ldy) = nullptr;
};

/// The table of a unit, which must be supported() on this CPU and not None.
[[nodiscard]] const Bf16Kernels& bf16_kernels(Bf16Unit unit) noexcept;

namespace internal {
/// The same loops over plain arithmetic: what the units are compared with.
extern const Bf16Kernels kBf16VectorPlain;
extern const Bf16Kernels kBf16TilePlain;
extern const Bf16Kernels kBf16VectorAvx512;
extern const Bf16Kernels kBf16TileAmx;
}  // namespace internal
}  // namespace sluice
