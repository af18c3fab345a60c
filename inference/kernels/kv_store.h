#pragma once
#include "inference/kernels/attention_kernels.h"

#include <cstdint>
#include <string_view>

namespace sluice {

[[nodiscard]] std::string_view name(KvFormat format) noexcept;
/// Bytes of one number, and of the factors of one token and head.
[[nodiscard]] int64_t element_size(KvFormat format) noexcept;
[[nodiscard]] int64_t factor_size(KvFormat format) noexcept;

/// Stores the keys (or values) of one token and head, as AttentionKernels read them: Bf16 rounded
/// to nearest even; Int8 as multiples of `*factor`, which becomes the largest magnitude / 127.
/// A number that is none makes all of an Int8 row none. `factor` may be null otherwise.
void store_kv(KvFormat format, const float* from, int64_t head_dim, void* to, float* factor);

/// What a stored row stands for.
void load_kv(KvFormat format, const void* from, const float* factor, int64_t head_dim, float* to);

}  // namespace sluice
