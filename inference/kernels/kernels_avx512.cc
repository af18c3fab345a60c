// Compiled with this instruction set's flags: runs only where the CPU has it (see
// linear_kernels()).
#if defined(__x86_64__)
#include "inference/kernels/attention_kernels_impl.h"
#include "inference/kernels/linear_kernels_impl.h"

namespace sluice::internal {
const LinearKernels kLinearAvx512 = kLinearTable;
const AttentionKernels kAttentionAvx512 = kAttentionTable;
}  // namespace sluice::internal
#endif
