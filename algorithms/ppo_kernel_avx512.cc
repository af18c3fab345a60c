#if defined(__x86_64__)
#include "algorithms/ppo_kernel_impl.h"

namespace sluice::internal {
const PpoKernel kPpoAvx512 = &PpoTiles<simd::Avx512>::run;
}
#endif
