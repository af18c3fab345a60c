#include "trainer/optim/adam_impl.h"

namespace sluice::internal {
const AdamKernel kAdamPlain = &adam_pass<simd::Plain>;
}
