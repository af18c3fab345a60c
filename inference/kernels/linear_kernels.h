#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// How the weights of a linear layer are stored. Arithmetic is fp32, but for Int8, whose products
/// within a group are whole numbers.
enum class WeightFormat : uint8_t {
  Fp32,
  Bf16,  ///< rounded to nearest even
  Int8,  ///< symmetric, one fp32 factor per output and group of inputs; see RoundedRows
  Rows,  ///< fp32 as a tensor holds it, row after row: not packed
};

/// Sixteen outputs of a linear layer: they lie together in memory, input after input.
struct LinearPanel {
  static constexpr int64_t kWidth = 16;
  int32_t column = 0;  ///< of the first output
  int32_t count = 0;   ///< outputs in use, at most kWidth
};

/// A weight matrix as the kernels read it; PackedMatrix owns one. A panel is laid out as
/// Fp32 [in][16], Bf16 [in / 2][16][2], Int8 [in / 2][16][2] (zeros behind the last input) with
/// factors [groups][16]; of Rows `data` is the tensor and panel p starts at row `column`.
struct LinearWeights {
  static constexpr int64_t kMaxGroup = 512;  ///< sums of more could leave 32 bits
  WeightFormat format = WeightFormat::Fp32;
  int64_t in = 0;
  int64_t group = 0;         ///< Int8: inputs per factor, a multiple of 4 up to kMaxGroup
  int64_t panel_stride = 0;  ///< elements from one panel to the next; of Rows: from row to row
  const void* data = nullptr;
  const float* factors = nullptr;  ///< Int8: [panels][groups][16]
  const LinearPanel* panels = nullptr;

  [[nodiscard]] int64_t groups() const noexcept { return (in + group - 1) / group; }
};

/// Inputs of Int8 weights: within a group of a row, multiples of 1 / 32767 of its largest
/// magnitude, so that a product of 8 by 16 bits takes a fraction of a floating-point one.
struct RoundedRows {
  const int16_t* x = nullptr;      ///< [rows][stride(in)], zeros behind the last input
  const float* factors = nullptr;  ///< [rows][groups]
  static constexpr int64_t stride(int64_t in) noexcept { return (in + 31) / 16 * 16; }
};

/// Products with a weight matrix, one table per Isa. An output is one chain of fused multiply-adds
/// over its inputs in their order, begun at its bias (Int8: over its groups; what they sum up to is
/// exact). So it depends on its own row alone, neither on how many rows there are nor on the
/// variant: all tables give the same bits.
struct LinearKernels {
  /// Floats that multiply() needs of scratch.
  int64_t (*scratch)() = nullptr;
  /// y[r][column] of panels [begin, end) for `rows` rows of x. `bias` is indexed by column and may
  /// be null. Calls for disjoint panels may run at once, each with its own scratch. Any format but
  /// Int8.
  void (*multiply)(const LinearWeights& w, int64_t begin, int64_t end, const float* x, int64_t ldx,
                   int64_t rows, const float* bias, float* y, int64_t ldy,
                   float* scratch) = nullptr;
  /// Makes RoundedRows of x for weights of this shape. A number that is none, or infinite, makes
  /// its row's outputs none.
  void (*round)(const LinearWeights& w, const float* x, int64_t ldx, int64_t rows, int16_t* out,
                float* factors) = nullptr;
  /// multiply() of Int8.
  void (*multiply_rounded)(const LinearWeights& w, int64_t begin, int64_t end, const RoundedRows& x,
                           int64_t rows, const float* bias, float* y, int64_t ldy) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const LinearKernels& linear_kernels(Isa isa) noexcept;

namespace internal {
extern const LinearKernels kLinearPlain;
extern const LinearKernels kLinearAvx2;
extern const LinearKernels kLinearAvx512;
}  // namespace internal
}  // namespace sluice
