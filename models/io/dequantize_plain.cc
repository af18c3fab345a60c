#include "models/io/dequantize_impl.h"

namespace sluice {
namespace internal {
Dequantize dequantize_plain(StoredType type) noexcept { return kernel(type); }
}  // namespace internal

Dequantize dequantize_kernel(StoredType type, Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa != Isa::Plain) return internal::dequantize_avx2(type);
#endif
  (void)isa;
  return internal::dequantize_plain(type);
}
}  // namespace sluice
