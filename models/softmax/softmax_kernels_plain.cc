#include "models/softmax/softmax_kernels_impl.h"

namespace sluice {
namespace internal {
const SoftmaxKernels kSoftmaxPlain = kSoftmaxTable<simd::Plain>;
}

const SoftmaxKernels& softmax_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx2) return internal::kSoftmaxAvx2;
  if (isa == Isa::Avx512) return internal::kSoftmaxAvx512;
#endif
  (void)isa;
  return internal::kSoftmaxPlain;
}
}  // namespace sluice
