#include "inference/sampler/sampling_kernels_impl.h"

namespace sluice {
namespace internal {
const SamplingKernels kSamplingPlain = kSamplingTable<simd::Plain>;
}

const SamplingKernels& sampling_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx2) return internal::kSamplingAvx2;
  if (isa == Isa::Avx512) return internal::kSamplingAvx512;
#endif
  (void)isa;
  return internal::kSamplingPlain;
}
}  // namespace sluice
