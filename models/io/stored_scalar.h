#pragma once
#include "models/io/stored_type.h"

#include <ATen/core/Tensor.h>

#include <optional>

namespace sluice {

/// The type of tensors that hold such elements as they are; nothing for blocks and for types below
/// a byte.
[[nodiscard]] std::optional<at::ScalarType> scalar_type(StoredType type) noexcept;

/// The stored type of a tensor's elements; nothing when safetensors cannot hold them.
[[nodiscard]] std::optional<StoredType> stored_type(at::ScalarType type) noexcept;

}  // namespace sluice
