#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// How the elements of a tensor lie in a file: the types of safetensors, then the block formats of
/// GGUF (F32, F16 and BF16 are common to both).
enum class StoredType : uint8_t {
  Bool,
  U8,
  I8,
  F4,
  F6E2M3,
  F6E3M2,
  F8E5M2,
  F8E4M3,
  F8E5M2Fnuz,
  F8E4M3Fnuz,
  F8E8M0,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  I64,
  U64,
  F64,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q8_0,
  Q4K,
  Q5K,
  Q6K,
};

/// The name that files and tables use: "BF16", "F8_E4M3", "Q4_K".
[[nodiscard]] std::string_view name(StoredType type) noexcept;

/// The safetensors type of this name; nothing when safetensors has none so called.
[[nodiscard]] std::optional<StoredType> safetensors_type(std::string_view name) noexcept;

/// Whether elements are floating-point numbers, in blocks or not: what weights are made of.
[[nodiscard]] bool is_float(StoredType type) noexcept;

/// Elements are stored in blocks of this many (1 for plain types), each of this many bits.
[[nodiscard]] uint32_t block_elements(StoredType type) noexcept;
[[nodiscard]] uint32_t block_bits(StoredType type) noexcept;

/// Bytes that `elements` elements take, or nothing when they do not fill whole bytes or whole
/// blocks, or the number overflows.
[[nodiscard]] std::optional<uint64_t> stored_bytes(StoredType type, uint64_t elements) noexcept;

}  // namespace sluice
