// Compiled with this instruction set's flags: runs only where the CPU has it (see
// sampling_kernels()).
#if defined(__x86_64__)
#include "inference/sampler/sampling_kernels_impl.h"

namespace sluice::internal {
const SamplingKernels kSamplingAvx2 = kSamplingTable<simd::Avx2>;
}
#endif
