#include "models/transformer/tree_attention_kernels_impl.h"

namespace sluice {
namespace internal {
const TreeAttentionKernels kTreeAttentionPlain = tree_attention_table<simd::Plain>();
}

const TreeAttentionKernels& tree_attention_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return internal::kTreeAttentionAvx512;
  if (isa == Isa::Avx2) return internal::kTreeAttentionAvx2;
#endif
  static_cast<void>(isa);
  return internal::kTreeAttentionPlain;
}

}  // namespace sluice
