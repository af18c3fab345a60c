#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// c[m, n] = (or +=) a[m, k] b[k, n]. Element (i, j) of a is a[i * a_row + j * a_col], so that a
/// may be a transpose; b and c are rows of `ldb` and `ldc` floats.
struct ThinProduct {
  int64_t m = 0, n = 0, k = 0;  ///< n: whole vectors
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 1;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  bool add = false;
};

/// A row of scores of which the columns [begin, end) are keys; the rest, up to `padded`, is not.
struct ScoreRow {
  int64_t begin = 0, end = 0, padded = 0;  ///< padded: whole vectors
  float scale = 1;
};

/// The loops of attention over short sequences, one table per Isa: products that are too thin for a
/// BLAS, and what stands between them.
struct TreeAttentionKernels {
  int64_t width = 1;  ///< floats per vector
  void (*product)(const ThinProduct& p) = nullptr;
  /// x -> softmax(scale * x) over the keys, 0 elsewhere; returns log of the sum of e^(scale * x).
  float (*softmax)(float* x, const ScoreRow& row) = nullptr;
  /// x scores, y gradients of the probabilities: x -> p = e^(scale * x - lse), y -> gradients of
  /// the scores, scale * p * (y - sum(p * y)); both 0 elsewhere.
  void (*gradient)(float* x, float* y, float lse, const ScoreRow& row) = nullptr;
  /// out[n, rows] = x[rows, n]^T for rows of `ldx` and `ldo` floats.
  void (*transpose)(const float* x, int64_t ldx, int64_t rows, int64_t n, float* out,
                    int64_t ldo) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const TreeAttentionKernels& tree_attention_kernels(Isa isa) noexcept;

namespace internal {
extern const TreeAttentionKernels kTreeAttentionPlain;
extern const TreeAttentionKernels kTreeAttentionAvx2;
extern const TreeAttentionKernels kTreeAttentionAvx512;
}  // namespace internal
}  // namespace sluice
