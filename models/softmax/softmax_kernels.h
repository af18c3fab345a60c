#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// The online softmax of one row so far: max m, sum of e^(x - m), and sum of e^(x - m) (x - m).
struct SoftmaxRow {
  float max = 0;
  double sum = 0;
  double weighted = 0;
};

/// What turns a row of logits x into d loss / d x: p = e^(x - lse),
/// -p (g + q (x - lse + entropy)), without the g of the target.
struct SoftmaxGradient {
  float lse = 0;
  float g = 0;        ///< d loss / d logprob
  float q = 0;        ///< d loss / d entropy
  float entropy = 0;  ///< unused when q is 0
};

/// One pass over a row of a tile where ATen's operations take five; one table per Isa. Exponentials
/// below e^-87 count as 0. A row that holds NaN or +inf ends as NaN.
struct SoftmaxKernels {
  /// Takes in x[n]. `weighted` is kept only when asked for.
  void (*fold)(const float* x, int64_t n, bool weighted, SoftmaxRow& row) = nullptr;
  /// Replaces x[n].
  void (*gradient)(float* x, int64_t n, const SoftmaxGradient& row) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const SoftmaxKernels& softmax_kernels(Isa isa) noexcept;

namespace internal {
extern const SoftmaxKernels kSoftmaxPlain;
extern const SoftmaxKernels kSoftmaxAvx2;
extern const SoftmaxKernels kSoftmaxAvx512;
}  // namespace internal
}  // namespace sluice
