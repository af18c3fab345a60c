#include "inference/kernels/attention_kernels_impl.h"
#include "inference/kernels/linear_kernels_impl.h"

namespace sluice {
namespace internal {
const LinearKernels kLinearPlain = kLinearTable;
const AttentionKernels kAttentionPlain = kAttentionTable;
}  // namespace internal

const LinearKernels& linear_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return internal::kLinearAvx512;
  if (isa == Isa::Avx2) return internal::kLinearAvx2;
#endif
  static_cast<void>(isa);
  return internal::kLinearPlain;
}

const AttentionKernels& attention_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return internal::kAttentionAvx512;
  if (isa == Isa::Avx2) return internal::kAttentionAvx2;
#endif
  static_cast<void>(isa);
  return internal::kAttentionPlain;
}

}  // namespace sluice
