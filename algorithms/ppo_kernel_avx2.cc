#if defined(__x86_64__)
#include "algorithms/ppo_kernel_impl.h"

namespace sluice::internal {
const PpoKernel kPpoAvx2 = &PpoTiles<simd::Avx2>::run;
}
#endif
