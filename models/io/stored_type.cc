#include "models/io/stored_type.h"

#include <array>
#include <optional>

namespace sluice {
namespace {

struct Row {
  std::string_view name;
  uint32_t elements;
  uint32_t bits;
};

constexpr size_t kTypes = static_cast<size_t>(StoredType::Q6K) + 1;
constexpr size_t kSafetensorsTypes = static_cast<size_t>(StoredType::F64) + 1;

// In the order of the enumeration.
constexpr std::array<Row, kTypes> kRows = {{
    {"BOOL", 1, 8},         {"U8", 1, 8},           {"I8", 1, 8},         {"F4", 1, 4},
    {"F6_E2M3", 1, 6},      {"F6_E3M2", 1, 6},      {"F8_E5M2", 1, 8},    {"F8_E4M3", 1, 8},
    {"F8_E5M2FNUZ", 1, 8},  {"F8_E4M3FNUZ", 1, 8},  {"F8_E8M0", 1, 8},    {"I16", 1, 16},
    {"U16", 1, 16},         {"F16", 1, 16},         {"BF16", 1, 16},      {"I32", 1, 32},
    {"U32", 1, 32},         {"F32", 1, 32},         {"C64", 1, 64},       {"I64", 1, 64},
    {"U64", 1, 64},         {"F64", 1, 64},         {"Q4_0", 32, 18 * 8}, {"Q4_1", 32, 20 * 8},
    {"Q5_0", 32, 22 * 8},   {"Q5_1", 32, 24 * 8},   {"Q8_0", 32, 34 * 8}, {"Q4_K", 256, 144 * 8},
    {"Q5_K", 256, 176 * 8}, {"Q6_K", 256, 210 * 8},
}};

const Row& row(StoredType type) noexcept { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::string_view name(StoredType type) noexcept { return row(type).name; }
uint32_t block_elements(StoredType type) noexcept { return row(type).elements; }
uint32_t block_bits(StoredType type) noexcept { return row(type).bits; }

std::optional<StoredType> safetensors_type(std::string_view name) noexcept {
  for (size_t i = 0; i < kSafetensorsTypes; ++i) {
    if (kRows[i].name == name) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

std::optional<uint64_t> stored_bytes(StoredType type, uint64_t elements) noexcept {
  const Row& r = row(type);
  if (elements % r.elements != 0) return std::nullopt;
  uint64_t bits = 0;
  if (__builtin_mul_overflow(elements / r.elements, static_cast<uint64_t>(r.bits), &bits))
    return std::nullopt;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

bool is_float(StoredType type) noexcept {
  switch (type) {
    case StoredType::Bool:
    case StoredType::U8:
    case StoredType::I8:
    case StoredType::I16:
    case StoredType::U16:
    case StoredType::I32:
    case StoredType::U32:
    case StoredType::I64:
    case StoredType::U64:
    case StoredType::C64:
      return false;
    default:
      return true;
  }
}

}  // namespace sluice
