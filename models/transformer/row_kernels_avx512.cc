// Compiled with this instruction set's flags: runs only where the CPU has it (see row_kernels()).
#if defined(__x86_64__)
#include "models/transformer/row_kernels_impl.h"

namespace sluice::internal {
const RowKernels kRowAvx512 = kTable;
}
#endif
