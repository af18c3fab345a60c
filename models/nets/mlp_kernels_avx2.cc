// Compiled with this instruction set's flags: runs only where the CPU has it (see mlp_kernels()).
#if defined(__x86_64__)
#include "models/nets/mlp_kernels_impl.h"

namespace sluice::internal {
const MlpKernels kMlpAvx2 = MlpTiles<simd::Avx2>::table();
}
#endif
