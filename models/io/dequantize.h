#pragma once
#include "dataflow/base/cpu.h"
#include "models/io/stored_type.h"

#include <cstdint>

namespace sluice {

/// Unpacks `blocks` blocks of a GGUF format from `in` to floats at `out`, in the order and with the
/// roundings of ggml's reference: every variant gives the same bits.
using Dequantize = void (*)(const uint8_t* in, int64_t blocks, float* out);

/// The kernel of a block format for an instruction set that this CPU supports; null for types that
/// are not stored in blocks.
[[nodiscard]] Dequantize dequantize_kernel(StoredType type, Isa isa) noexcept;

namespace internal {
Dequantize dequantize_plain(StoredType type) noexcept;
Dequantize dequantize_avx2(StoredType type) noexcept;
}  // namespace internal

}  // namespace sluice
