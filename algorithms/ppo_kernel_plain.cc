#include "algorithms/ppo_kernel_impl.h"

namespace sluice::internal {
const PpoKernel kPpoPlain = &PpoTiles<simd::Plain>::run;
}
