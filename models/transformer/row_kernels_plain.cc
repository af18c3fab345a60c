#include "models/transformer/row_kernels_impl.h"

namespace sluice {
namespace internal {
const RowKernels kRowPlain = kTable;
}

const RowKernels& row_kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::Avx512) return internal::kRowAvx512;
  if (isa == Isa::Avx2) return internal::kRowAvx2;
#endif
  static_cast<void>(isa);
  return internal::kRowPlain;
}

}  // namespace sluice
