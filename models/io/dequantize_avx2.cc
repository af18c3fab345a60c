// Compiled with this instruction set's flags: runs only where the CPU has it.
#if defined(__x86_64__)
#include "models/io/dequantize_impl.h"

namespace sluice::internal {
Dequantize dequantize_avx2(StoredType type) noexcept { return kernel(type); }
}  // namespace sluice::internal
#endif
