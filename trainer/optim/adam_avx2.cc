#if defined(__x86_64__)
#include "trainer/optim/adam_impl.h"

namespace sluice::internal {
const AdamKernel kAdamAvx2 = &adam_pass<simd::Avx2>;
}
#endif
