#if defined(__x86_64__)
#include "trainer/optim/adam_impl.h"

namespace sluice::internal {
const AdamKernel kAdamAvx512 = &adam_pass<simd::Avx512>;
}
#endif
