#include "dataflow/types/batch.h"

#include <ATen/ATen.h>

#include <atomic>
#include <cstdlib>

namespace sluice {
namespace {

std::atomic<int64_t> clone_count{0};

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::F32:
      return at::kFloat;
    case DType::F64:
      return at::kDouble;
    case DType::I32:
      return at::kInt;
    case DType::I64:
      return at::kLong;
    case DType::U8:
      return at::kByte;
    case DType::Bool:
      return at::kBool;
  }
  return at::kFloat;
}

}  // namespace

Batch::Batch(Schema schema, int64_t rows) : schema_(std::move(schema)), rows_(rows) {
  for (const auto& field : schema_.fields()) {
    std::vector<int64_t> shape{rows};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    columns_.push_back(at::zeros(shape, at::TensorOptions().dtype(scalar_type(field.dtype))));
    data_.push_back(columns_.back().data_ptr());
    element_size_.push_back(static_cast<size_t>(size_bytes(field.dtype)));
    row_bytes_.push_back(field.bytes());
  }
}

const at::Tensor& Batch::column(std::string_view name) const {
  const int64_t i = schema_.find(name);
  SLUICE_CHECK(i >= 0) << "batch has no column '" << name << "', only " << schema_.to_string();
  return column(i);
}

void Batch::refuse(int64_t i, size_t element_size) const {
  const auto at = static_cast<size_t>(i);
  SLUICE_CHECK(at < data_.size()) << "column " << i << " of " << schema_.to_string();
  SLUICE_CHECK(false) << "column '" << schema_.fields()[at].name << "' read with an element of "
                      << element_size << " bytes";
  std::abort();  // not reached: a failed check throws
}

int64_t Batch::bytes() const noexcept {
  int64_t total = 0;
  for (const int64_t row : row_bytes_) total += row * rows_;
  return total;
}

Batch Batch::clone() const {
  clone_count.fetch_add(1, std::memory_order_relaxed);
  Batch out(schema_, rows_);
  for (size_t i = 0; i < columns_.size(); ++i) out.columns_[i].copy_(columns_[i]);
  return out;
}

int64_t Batch::clones() noexcept { return clone_count.load(std::memory_order_relaxed); }

}  // namespace sluice
