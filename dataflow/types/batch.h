#pragma once
#include "dataflow/base/spec.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sluice {

/// Named tensors with one leading row dimension: column i of the schema is a contiguous CPU tensor
/// of shape [rows, schema[i].shape...]. Allocated once; written through data(); immutable once it
/// is in a channel. Moves; never copied by accident: clone() is the only way, and it is counted.
class Batch {
 public:
  Batch() = default;
  Batch(Schema schema, int64_t rows);
  Batch(Batch&&) noexcept = default;
  Batch& operator=(Batch&&) noexcept = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }
  [[nodiscard]] int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] const at::Tensor& column(int64_t i) const {
    return columns_[static_cast<size_t>(i)];
  }
  /// Tensor by name; a check fails when there is none.
  [[nodiscard]] const at::Tensor& column(std::string_view name) const;

  /// Start of column i. T must have the column's element size (checked).
  template <class T>
  [[nodiscard]] T* data(int64_t i) {
    return static_cast<T*>(raw(i, sizeof(T)));
  }
  template <class T>
  [[nodiscard]] const T* data(int64_t i) const {
    return static_cast<const T*>(raw(i, sizeof(T)));
  }
  /// Bytes of one row of column i.
  [[nodiscard]] int64_t row_bytes(int64_t i) const { return row_bytes_[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t bytes() const noexcept;

  [[nodiscard]] Batch clone() const;
  /// How many clones this process has made: benchmarks and tests assert that paths make none.
  [[nodiscard]] static int64_t clones() noexcept;

 private:
  [[nodiscard]] void* raw(int64_t i, size_t element_size) const {
    const auto at = static_cast<size_t>(i);
    if (at >= data_.size() || (element_size != 1 && element_size != element_size_[at])) [[unlikely]]
      refuse(i, element_size);
    return data_[at];
  }
  /// Out of line: every step of an environment reads a dozen columns.
  [[noreturn]] void refuse(int64_t i, size_t element_size) const;

  Schema schema_;
  int64_t rows_ = 0;
  std::vector<at::Tensor> columns_;
  std::vector<void*> data_;
  std::vector<size_t> element_size_;
  std::vector<int64_t> row_bytes_;
};

}  // namespace sluice
