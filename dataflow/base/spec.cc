#include "dataflow/base/spec.h"

#include <fmt/ranges.h>

namespace sluice {

int64_t size_bytes(DType type) noexcept {
  switch (type) {
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::F64:
    case DType::I64:
      return 8;
    case DType::U8:
    case DType::Bool:
      return 1;
  }
  return 0;
}

std::string_view name(DType type) noexcept {
  switch (type) {
    case DType::F32:
      return "float32";
    case DType::F64:
      return "float64";
    case DType::I32:
      return "int32";
    case DType::I64:
      return "int64";
    case DType::U8:
      return "uint8";
    case DType::Bool:
      return "bool";
  }
  return "unknown";
}

int64_t TensorSpec::elements() const noexcept {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

std::string TensorSpec::to_string() const {
  return fmt::format("{} {}[{}]", name, sluice::name(dtype), fmt::join(shape, ", "));
}

int64_t Schema::find(std::string_view name) const noexcept {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string Schema::to_string() const {
  std::string text;
  for (const auto& field : fields_) {
    if (!text.empty()) text += "; ";
    text += field.to_string();
  }
  return "{" + text + "}";
}

}  // namespace sluice
