// Compiled with this instruction set's flags: runs only where the CPU has it (see
// tree_attention_kernels()).
#if defined(__x86_64__)
#include "models/transformer/tree_attention_kernels_impl.h"

namespace sluice::internal {
const TreeAttentionKernels kTreeAttentionAvx2 = tree_attention_table<simd::Avx2>();
}
#endif
