#include "models/io/stored_scalar.h"

#include <array>
#include <utility>

namespace sluice {
namespace {

constexpr std::array<std::pair<StoredType, at::ScalarType>, 19> kPairs = {{
    {StoredType::Bool, at::kBool},
    {StoredType::U8, at::kByte},
    {StoredType::I8, at::kChar},
    {StoredType::F8E5M2, at::kFloat8_e5m2},
    {StoredType::F8E4M3, at::kFloat8_e4m3fn},
    {StoredType::F8E5M2Fnuz, at::kFloat8_e5m2fnuz},
    {StoredType::F8E4M3Fnuz, at::kFloat8_e4m3fnuz},
    {StoredType::F8E8M0, at::kFloat8_e8m0fnu},
    {StoredType::I16, at::kShort},
    {StoredType::U16, at::kUInt16},
    {StoredType::F16, at::kHalf},
    {StoredType::BF16, at::kBFloat16},
    {StoredType::I32, at::kInt},
    {StoredType::U32, at::kUInt32},
    {StoredType::F32, at::kFloat},
    {StoredType::C64, at::kComplexFloat},
    {StoredType::I64, at::kLong},
    {StoredType::U64, at::kUInt64},
    {StoredType::F64, at::kDouble},
}};

}  // namespace

std::optional<at::ScalarType> scalar_type(StoredType type) noexcept {
  for (const auto& [stored, scalar] : kPairs) {
    if (stored == type) return scalar;
  }
  return std::nullopt;
}

std::optional<StoredType> stored_type(at::ScalarType type) noexcept {
  for (const auto& [stored, scalar] : kPairs) {
    if (scalar == type) return stored;
  }
  return std::nullopt;
}

}  // namespace sluice
