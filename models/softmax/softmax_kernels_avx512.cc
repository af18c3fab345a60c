// Compiled with this instruction set's flags: runs only where the CPU has it (see
// softmax_kernels()).
#if defined(__x86_64__)
#include "models/softmax/softmax_kernels_impl.h"

namespace sluice::internal {
const SoftmaxKernels kSoftmaxAvx512 = kSoftmaxTable<simd::Avx512>;
}
#endif
