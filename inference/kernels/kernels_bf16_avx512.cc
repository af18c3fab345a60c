// Compiled with AVX512-BF16: runs only where the CPU has it (see bf16_kernels()).
#if defined(__x86_64__)
#include "inference/kernels/bf16_vector_impl.h"

namespace sluice::internal {
const Bf16Kernels kBf16VectorAvx512 = kBf16VectorTable;
}  // namespace sluice::internal
#endif
