#pragma once
#include "dataflow/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// Element types of tensors that cross a channel or leave an environment.
enum class DType : uint8_t { F32, F64, I32, I64, U8, Bool };

[[nodiscard]] int64_t size_bytes(DType type) noexcept;
[[nodiscard]] std::string_view name(DType type) noexcept;

/// Name, type and shape of one tensor. `shape` has no batch dimension.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;

  /// Product of the shape; 1 for a scalar.
  [[nodiscard]] int64_t elements() const noexcept;
  [[nodiscard]] int64_t bytes() const noexcept { return elements() * size_bytes(dtype); }
  /// "obs float32[4]".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// The columns of a batch, in order. Names are unique.
class Schema {
 public:
  Schema() = default;
  Schema(std::initializer_list<TensorSpec> fields) : fields_(fields) {}
  explicit Schema(std::vector<TensorSpec> fields) : fields_(std::move(fields)) {}

  [[nodiscard]] const std::vector<TensorSpec>& fields() const noexcept { return fields_; }
  [[nodiscard]] size_t size() const noexcept { return fields_.size(); }
  /// Position of a column, or -1.
  [[nodiscard]] int64_t find(std::string_view name) const noexcept;
  void add(TensorSpec field) { fields_.push_back(std::move(field)); }
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  std::vector<TensorSpec> fields_;
};

}  // namespace sluice
