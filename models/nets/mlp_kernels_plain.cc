#include "models/nets/mlp_kernels_impl.h"

namespace sluice {
namespace internal {
const MlpKernels kMlpPlain = MlpTiles<simd::Plain>::table();
}

const MlpKernels& mlp_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx2) return internal::kMlpAvx2;
  if (isa == Isa::Avx512) return internal::kMlpAvx512;
#endif
  (void)isa;
  return internal::kMlpPlain;
}
}  // namespace sluice
