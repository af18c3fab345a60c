#pragma once
#include "dataflow/base/cpu.h"

#include <cstdint>

namespace sluice {

/// The passes over a row of logits x[n] that drawing a token takes; one table per Isa.
/// Exponentials below e^-87 count as 0, those of -inf too.
struct SamplingKernels {
  /// Entries that share a maximum and a sum; the last block may be short.
  static constexpr int64_t kBlock = 64;
  [[nodiscard]] static constexpr int64_t blocks(int64_t n) noexcept {
    return (n + kBlock - 1) / kBlock;
  }

  /// out = x / by; may be in place.
  void (*divide)(const float* x, int64_t n, float by, float* out) = nullptr;
  /// out[blocks(n)]: the greatest entry of each block. NaN counts as nothing.
  void (*block_max)(const float* x, int64_t n, float* out) = nullptr;
  /// out[blocks(n)]: the sum of e^(x - max) of each block.
  void (*block_sums)(const float* x, int64_t n, float max, float* out) = nullptr;
  /// out[n] = e^(x - max).
  void (*exponentials)(const float* x, int64_t n, float max, float* out) = nullptr;
  /// Entries above -inf.
  int64_t (*possible)(const float* x, int64_t n) = nullptr;
};

/// The table of a variant; the variant must be supported() on this CPU.
[[nodiscard]] const SamplingKernels& sampling_kernels(Isa isa) noexcept;

namespace internal {
extern const SamplingKernels kSamplingPlain;
extern const SamplingKernels kSamplingAvx2;
extern const SamplingKernels kSamplingAvx512;
}  // namespace internal
}  // namespace sluice
